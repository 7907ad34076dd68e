package com.initech.tps.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The archive of reports: one JSON file for each, in a folder. */
class Archive {
    private static final Pattern REPORT_NUMBER = Pattern.compile("tps-[a-z2-7]{12}");

    /** How often the archive has to be asked until a change has settled, as with real services. */
    private static final int CHECKS_UNTIL_SETTLED = 2;

    private static final ObjectMapper JSON = new ObjectMapper().setSerializationInclusion(JsonInclude.Include.NON_NULL);

    private final Path folder;

    Archive() {
        // The library empties java.io.tmpdir in each call.
        final String configured = System.getenv("REPORTS_DIR");
        folder = Path.of(configured == null || configured.isEmpty() ? "/tmp/initech-tps-reports" : configured);
    }

    /** Files a new report. One that is there already was filed by the same request. */
    void file(final ResourceModel report, final Map<String, String> labels) {
        if (!Files.exists(path(report.getId()))) {
            refile(new Entry(), report, labels);
        }
    }

    /** Replaces a report as a whole. A review code that was not given stays. */
    void refile(final Entry entry, final ResourceModel report, final Map<String, String> labels) {
        final String code = report.getReviewCode();
        put(entry.toBuilder()
            .report(report.toBuilder().reviewCode(null).build())
            .labels(labels)
            .reviewCodeHash(code == null ? entry.getReviewCodeHash() : HexFormat.of().formatHex(sha256(code)))
            .checksLeft(CHECKS_UNTIL_SETTLED)
            .build());
    }

    /** Returns a report; one that is being shredded counts as gone. */
    Entry get(final String number) throws NoReportException {
        final Entry entry = load(number);
        if (entry.getShreddedBy() != null) {
            throw new NoReportException();
        }
        return entry;
    }

    /** Begins to remove a report. A repeated request has the same token and continues. */
    void shred(final String number, final String token) throws NoReportException {
        final Entry entry = load(number);
        if (entry.getShreddedBy() == null) {
            put(entry.toBuilder().shreddedBy(token).checksLeft(CHECKS_UNTIL_SETTLED).build());
        } else if (!entry.getShreddedBy().equals(token)) {
            throw new NoReportException();
        }
    }

    /** Whether the last change is through. A report that was shredded is then gone. */
    boolean settled(final String number) throws NoReportException {
        final Entry entry = load(number);
        if (entry.getChecksLeft() > 0) {
            put(entry.toBuilder().checksLeft(entry.getChecksLeft() - 1).build());
            return false;
        }
        if (entry.getShreddedBy() != null) {
            try {
                Files.deleteIfExists(path(number));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            throw new NoReportException();
        }
        return true;
    }

    /** The numbers of the reports behind a number, in order. */
    List<String> numbers(final String after) {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                .filter(name -> name.endsWith(".json"))
                .map(name -> name.substring(0, name.length() - ".json".length()))
                .filter(REPORT_NUMBER.asMatchPredicate())
                .filter(number -> number.compareTo(after) > 0)
                .filter(this::exists)
                .sorted()
                .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static byte[] sha256(final String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java runtime has it
        }
    }

    private boolean exists(final String number) {
        try {
            return get(number) != null;
        } catch (NoReportException e) {
            return false; // shredded in the meantime
        }
    }

    private Path path(final String number) {
        return folder.resolve(number + ".json");
    }

    private Entry load(final String number) throws NoReportException {
        final Predicate<String> valid = REPORT_NUMBER.asMatchPredicate();
        if (number == null || !valid.test(number) || !Files.exists(path(number))) {
            throw new NoReportException();
        }
        try {
            return JSON.readValue(Files.readAllBytes(path(number)), Entry.class);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Replaces the file at once, so that nobody reads half of it. */
    private void put(final Entry entry) {
        try {
            Files.createDirectories(folder);
            final Path file = Files.createTempFile(folder, ".report-", "");
            Files.write(file, JSON.writeValueAsBytes(entry));
            Files.move(file, path(entry.getReport().getId()), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
