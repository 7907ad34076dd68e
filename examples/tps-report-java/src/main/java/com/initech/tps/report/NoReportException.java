package com.initech.tps.report;

/** There is no report with this number. */
class NoReportException extends Exception {
    private static final long serialVersionUID = 1L;
}
