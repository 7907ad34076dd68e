"""The archive of reports: one JSON file for each, in a folder."""

import hashlib
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

REPORT_NUMBER = re.compile(r"tps-[a-z2-7]{12}")

# How often the archive has to be asked until a change has settled, as with real services.
CHECKS_UNTIL_SETTLED = 2


class NoReport(Exception):
    """There is no report with this number."""


@dataclass
class Record:
    """A report as it is in the archive. The review code is kept as a hash only."""

    report: Dict[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    review_code_hash: str = ""
    shredding: bool = False
    shredded_by: str = ""  # token of the request
    checks_left: int = 0


class Archive:
    def __init__(self) -> None:
        self.folder = Path(os.environ.get("REPORTS_DIR") or Path(tempfile.gettempdir()) / "initech-tps-reports")

    def file(self, report: Mapping[str, Any], labels: Optional[Mapping[str, str]]) -> None:
        """Files a new report. One that is there already was filed by the same request."""
        try:
            self.get(report["Id"])
        except NoReport:
            self.refile(Record(report={}), report, labels)

    def refile(self, record: Record, report: Mapping[str, Any], labels: Optional[Mapping[str, str]]) -> None:
        """Replaces a report as a whole. A review code that was not given stays."""
        record.report = {name: value for name, value in report.items() if name != "ReviewCode"}
        record.labels, record.checks_left = labels or {}, CHECKS_UNTIL_SETTLED
        if "ReviewCode" in report:
            record.review_code_hash = hashlib.sha256(report["ReviewCode"].encode()).hexdigest()
        self._put(record)

    def get(self, number: Optional[str]) -> Record:
        """Returns a report; one that is being shredded counts as gone."""
        record = self._load(number)
        if record.shredding:
            raise NoReport
        return record

    def shred(self, number: Optional[str], token: str) -> None:
        """Begins to remove a report. A repeated request has the same token and continues."""
        record = self._load(number)
        if record.shredding and record.shredded_by != token:
            raise NoReport
        if not record.shredding:
            record.shredding, record.shredded_by, record.checks_left = True, token, CHECKS_UNTIL_SETTLED
            self._put(record)

    def settled(self, number: Optional[str]) -> bool:
        """Whether the last change is through. A report that was shredded is then gone: NoReport."""
        record = self._load(number)
        if record.checks_left > 0:
            record.checks_left -= 1
            self._put(record)
            return False
        if record.shredding:
            self._path(record.report["Id"]).unlink(missing_ok=True)
            raise NoReport
        return True

    def numbers(self, after: str) -> List[str]:
        """The numbers of the reports behind a number, in order."""
        found = []
        for path in sorted(self.folder.glob("tps-*.json")):
            try:
                if path.stem > after:
                    self.get(path.stem)
                    found.append(path.stem)
            except NoReport:
                pass  # shredded in the meantime
        return found

    def _path(self, number: str) -> Path:
        return self.folder / f"{number}.json"

    def _load(self, number: Optional[str]) -> Record:
        if not number or not REPORT_NUMBER.fullmatch(number):
            raise NoReport
        try:
            return Record(**json.loads(self._path(number).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise NoReport from None

    def _put(self, record: Record) -> None:
        """Replaces the file at once, so that nobody reads half of it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".report-", dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(record.__dict__, file)
        os.replace(name, self._path(record.report["Id"]))
