"""`scripts/nemesis --seed N --minutes M`: harm everything at random, and see that no reader ever notices.

The seed comes first, then a line a minute. What is found ends the run with exit code 1, the way to repeat it, and a
folder with the journal, the logs and the files.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from tailrace.errors import TailraceError
from tailrace.testing.nemesis.census import Census
from tailrace.testing.nemesis.storm import Found, Storm
from tailrace.testing.nemesis.world import World

LINE_EVERY_S = 60.0
COUNT_EVERY_S = 2.0


class Run:
    def __init__(self, seed: int, minutes: float, per_second: float, folder: Path) -> None:
        self._seed, self._minutes = seed, minutes
        self._census = Census()
        self._began = self._lined = time.monotonic()
        self._counted = 0.0
        self._journal = folder / "journal"
        self._world = World(folder, seed, per_second)
        self._storm = Storm(self._world, random.Random(seed), self._note, self._tick)

    def run(self) -> list[str]:
        """What was found, nothing where all is well."""
        wrong: list[str] = []
        try:
            with self._world:
                self._storm.run(self._minutes * 60)
                self._line()
                wrong += self._census.grown()
        except Found as found:
            wrong += list(map(str, found.findings))
        except (TailraceError, AssertionError) as error:
            wrong.append(f"{type(error).__name__}: {error}")
        wrong += [f"{left} outlived the end" for left in self._census.left()]
        for each in wrong:
            self._note(f"FOUND {each}")
        return wrong

    def _note(self, words: str) -> None:
        with self._journal.open("a") as journal:
            journal.write(f"{time.monotonic() - self._began:8.2f} {words}\n")

    def _tick(self) -> None:
        now = time.monotonic()
        if now - self._counted >= COUNT_EVERY_S:
            self._counted = now
            self._census.count()
        if now - self._lined >= LINE_EVERY_S:
            self._lined = now
            self._line()

    def _line(self) -> None:
        world, storm = self._world, self._storm
        read = sum(copy.watch.rows for copy in world.copies)
        harms = ", ".join(f"{name} {count}" for name, count in sorted(storm.harms.items()))
        click.echo(
            f"minute {(time.monotonic() - self._began) / 60:.1f}: {world.traffic.transactions:,} transactions of "
            f"{world.traffic.rows:,} rows, {read:,} rows read in {len(world.copies)} copies, {storm.calms} calms, "
            f"{world.statements} statements done; "
            f"harms: {harms or 'none'}; MB: {self._census.memory()}"
        )


@click.command()
@click.option("--seed", type=int, help="Repeats the choices of a run; a new one when left out.")
@click.option("--minutes", default=3.0, show_default=True, help="How long the storm goes on.")
@click.option("--per-second", default=30.0, show_default=True, help="Transactions.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where everything goes; kept only with a finding.")
def nemesis(seed: int | None, minutes: float, per_second: float, folder: Path | None) -> None:
    """Kill, stop, hang, split and alter everything at random while readers look on."""
    seed = random.randrange(1 << 31) if seed is None else seed
    click.echo(f"nemesis: seed {seed}")
    place = (folder or Path(tempfile.mkdtemp(prefix="tailrace-nemesis-"))).resolve()
    place.mkdir(parents=True, exist_ok=True)
    wrong = Run(seed, minutes, per_second, place).run()
    for each in wrong:
        click.echo(f"nemesis: FOUND {each}")
    if wrong:
        click.echo(f"nemesis: repeat with scripts/nemesis --seed {seed} --minutes {minutes:g}; all is kept in {place}")
        sys.exit(1)
    shutil.rmtree(place)
    click.echo("nemesis: no finding, no process left")


if __name__ == "__main__":
    nemesis()
