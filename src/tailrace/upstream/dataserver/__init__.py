"""The upstream that reads the embedded range store, or any store that speaks `proto/cdc.proto`."""
