/** The archive of reports: one JSON file for each, in a folder. */
import { createHash, randomUUID } from 'crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';

const REPORT_NUMBER = /^tps-[a-z2-7]{12}$/;

// How often the archive has to be asked until a change has settled, as with real services.
const CHECKS_UNTIL_SETTLED = 2;

/** There is no report with this number. */
export class NoReport extends Error {}

export type Report = Record<string, any>;

/** A report as it is in the archive. The review code is kept as a hash only. */
export interface Entry {
    report: Report;
    labels: Record<string, string>;
    reviewCodeHash: string;
    shreddedBy: string; // token of the request; empty unless the report is being shredded
    checksLeft: number;
}

export class Archive {
    private readonly folder = process.env.REPORTS_DIR || join(tmpdir(), 'initech-tps-reports');

    /** Files a new report. One that is there already was filed by the same request. */
    file(report: Report, labels?: Record<string, string>): void {
        if (!existsSync(this.path(report.Id))) {
            this.refile({ report: {}, labels: {}, reviewCodeHash: '', shreddedBy: '', checksLeft: 0 }, report, labels);
        }
    }

    /** Replaces a report as a whole. A review code that was not given stays. */
    refile(entry: Entry, report: Report, labels?: Record<string, string>): void {
        const { ReviewCode: code, ...rest } = report;
        const reviewCodeHash = code ? createHash('sha256').update(code).digest('hex') : entry.reviewCodeHash;
        this.put({ ...entry, report: rest, labels: labels || {}, reviewCodeHash, checksLeft: CHECKS_UNTIL_SETTLED });
    }

    /** Returns a report; one that is being shredded counts as gone. */
    get(number?: string | null): Entry {
        const entry = this.load(number);
        if (entry.shreddedBy) {
            throw new NoReport();
        }
        return entry;
    }

    /** Begins to remove a report. A repeated request has the same token and continues. */
    shred(number: string | null | undefined, token: string): void {
        const entry = this.load(number);
        if (entry.shreddedBy && entry.shreddedBy !== token) {
            throw new NoReport();
        }
        if (!entry.shreddedBy) {
            this.put({ ...entry, shreddedBy: token, checksLeft: CHECKS_UNTIL_SETTLED });
        }
    }

    /** Whether the last change is through. A report that was shredded is then gone: NoReport. */
    settled(number?: string | null): boolean {
        const entry = this.load(number);
        if (entry.checksLeft > 0) {
            this.put({ ...entry, checksLeft: entry.checksLeft - 1 });
            return false;
        }
        if (entry.shreddedBy) {
            rmSync(this.path(entry.report.Id), { force: true });
            throw new NoReport();
        }
        return true;
    }

    /** The numbers of the reports behind a number, in order. */
    numbers(after: string): string[] {
        const files = existsSync(this.folder) ? readdirSync(this.folder) : [];
        const numbers = files.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
        return numbers.filter((number) => REPORT_NUMBER.test(number) && number > after && this.exists(number)).sort();
    }

    private exists(number: string): boolean {
        try {
            return Boolean(this.get(number));
        } catch (error) {
            if (error instanceof NoReport) {
                return false; // shredded in the meantime
            }
            throw error;
        }
    }

    private path(number: string): string {
        return join(this.folder, `${number}.json`);
    }

    private load(number?: string | null): Entry {
        if (!number || !REPORT_NUMBER.test(number) || !existsSync(this.path(number))) {
            throw new NoReport();
        }
        return JSON.parse(readFileSync(this.path(number), 'utf8'));
    }

    /** Replaces the file at once, so that nobody reads half of it. */
    private put(entry: Entry): void {
        mkdirSync(this.folder, { recursive: true, mode: 0o700 });
        const file = join(this.folder, `.report-${randomUUID()}`);
        writeFileSync(file, JSON.stringify(entry));
        renameSync(file, this.path(entry.report.Id));
    }
}
