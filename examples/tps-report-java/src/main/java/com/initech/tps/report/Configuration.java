package com.initech.tps.report;

class Configuration extends BaseConfiguration {

    public Configuration() {
        super("initech-tps-report.json");
    }
}
