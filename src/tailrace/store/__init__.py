"""Stores: folders and buckets as Tailrace reads and writes them, whoever asks."""
