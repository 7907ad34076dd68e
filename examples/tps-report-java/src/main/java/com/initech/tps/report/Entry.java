package com.initech.tps.report;

import java.util.Map;
import lombok.AllArgsConstructor;
import lombok.Builder;
import lombok.Data;
import lombok.NoArgsConstructor;

/** A report as it is in the archive. The review code is kept as a hash only. */
@Data
@Builder(toBuilder = true)
@AllArgsConstructor
@NoArgsConstructor
class Entry {
    private ResourceModel report;
    private Map<String, String> labels;
    private String reviewCodeHash;

    /** The token of the request that shreds the report. */
    private String shreddedBy;

    private int checksLeft;
}
