-- A database of the program before decision 0014, made by its registry: one registration
-- that a worker was at, one whose package is missing, and a wake-up of a kind that is not here.
BEGIN TRANSACTION;
CREATE TABLE activations (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    publisher_id TEXT NOT NULL,
    original_type_name TEXT NOT NULL,
    publication_id TEXT NOT NULL,
    auto_update BOOLEAN NOT NULL,
    execution_role TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL,
    PRIMARY KEY (account, region, kind, type_name)
);
CREATE TABLE change_sets (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    arn TEXT NOT NULL,
    live BOOLEAN NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    execution_status TEXT NOT NULL,
    reason TEXT NOT NULL,
    description TEXT NOT NULL,
    client_token TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    options TEXT NOT NULL,
    deployment_id TEXT NOT NULL,
    plan TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE TABLE formwork_migrations (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO "formwork_migrations" VALUES(1,0,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(2,1,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(3,2,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(4,3,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(5,4,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(6,5,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(7,6,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(8,7,1,'2026-11-23 00:14:30');
INSERT INTO "formwork_migrations" VALUES(9,8,1,'2026-11-23 00:14:30');
CREATE TABLE handler_progress (
    token_hash TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    status TEXT NOT NULL,
    error_code TEXT NOT NULL,
    message TEXT NOT NULL,
    model TEXT NOT NULL,
    client_token TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE TABLE invocations (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    version TEXT NOT NULL,
    action TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    request TEXT NOT NULL,
    reply TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_stream TEXT NOT NULL,
    duration BIGINT NOT NULL,
    started_at BIGINT NOT NULL
);
CREATE TABLE logs_events (
    group_id    TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    stream      TEXT NOT NULL,
    at          BIGINT NOT NULL,
    ingested_at BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    message     TEXT NOT NULL,
    PRIMARY KEY (group_id, sequence)
);
CREATE TABLE logs_groups (
    id          TEXT NOT NULL,
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT NOT NULL,
    class       TEXT NOT NULL,
    key_id      TEXT,
    tags        TEXT NOT NULL,
    retention   BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    events      BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE logs_streams (
    group_id    TEXT NOT NULL,
    name        TEXT NOT NULL,
    first_event BIGINT,
    last_event  BIGINT,
    ingested_at BIGINT,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (group_id, name)
);
CREATE TABLE nodes (
    id TEXT NOT NULL,
    seen BIGINT NOT NULL,
    CONSTRAINT nodes_pkey PRIMARY KEY (id)
);
CREATE TABLE operations (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    owner_key TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    action TEXT NOT NULL,
    type_name TEXT NOT NULL,
    token TEXT NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    cancelled BOOLEAN NOT NULL,
    calls BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL,
    event TEXT NOT NULL,
    request TEXT NOT NULL
);
CREATE TABLE publications (
    id TEXT NOT NULL PRIMARY KEY,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    publisher_id TEXT NOT NULL,
    type_name TEXT NOT NULL,
    number BIGINT NOT NULL,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    patch BIGINT NOT NULL,
    latest BOOLEAN NOT NULL,
    source_id TEXT NOT NULL,
    account TEXT NOT NULL,
    version BIGINT NOT NULL,
    schema TEXT NOT NULL,
    package_hash TEXT NOT NULL,
    package_url TEXT NOT NULL,
    runtime TEXT NOT NULL,
    entrypoint TEXT NOT NULL,
    description TEXT NOT NULL,
    source_url TEXT NOT NULL,
    documentation_url TEXT NOT NULL,
    provisioning_type TEXT NOT NULL,
    configuration_schema TEXT NOT NULL,
    required_types TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE published_types (
    type_name TEXT NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    imported_at BIGINT NOT NULL,
    schema TEXT NOT NULL
);
CREATE TABLE publishers (
    account TEXT NOT NULL PRIMARY KEY,
    publisher_id TEXT NOT NULL,
    identity_provider TEXT NOT NULL,
    connection_arn TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE registrations (
    token TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    version BIGINT NOT NULL,
    client_token TEXT,
    request_hash TEXT NOT NULL,
    package_url TEXT NOT NULL,
    package_hash TEXT NOT NULL,
    execution_role TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    status TEXT NOT NULL,
    stage TEXT NOT NULL,
    description TEXT NOT NULL,
    caller TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
INSERT INTO "registrations" VALUES('ea04fad0-0e81-433b-aaec-24bce74d6570','123456789012','eu-west-1','da155c80-d567-4b5f-baca-16abfe78c027','MODULE','LocalStack::Testing::TestModule::MODULE',1,NULL,'ec46bd158e72f630e633f95d9a49b6aaf03a35fd61f0b24d38c764064adcab65','s3://b/done','','','','','IN_PROGRESS','FETCH_STAGE','','AKIDEXAMPLE',1795392871046759,1795392871046759,0);
INSERT INTO "registrations" VALUES('d2cf03e0-eb99-4f28-92ee-ec01dc11efa4','123456789012','eu-west-1','da25518f-4151-49ba-9b73-d370dce6e792','RESOURCE','Acme::Upgrade::Missing',1,NULL,'0d15601e443f151c6ef27d4f7467d4d9632929a3f8a5551250ee3a877b0461ca','s3://b/missing','','','','','IN_PROGRESS','FETCH_STAGE','','AKIDEXAMPLE',1795392871219659,1795392871219659,0);
CREATE TABLE river_client (
    id text PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata blob NOT NULL DEFAULT (json('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL,
    CONSTRAINT name_length CHECK (length(id) > 0 AND length(id) < 128)
);
CREATE TABLE river_client_queue (
    river_client_id text NOT NULL REFERENCES river_client (id) ON DELETE CASCADE,
    name text NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    max_workers integer NOT NULL DEFAULT 0,
    metadata blob NOT NULL DEFAULT (json('{}')),
    num_jobs_completed integer NOT NULL DEFAULT 0,
    num_jobs_running integer NOT NULL DEFAULT 0,
    updated_at timestamp NOT NULL,
    PRIMARY KEY (river_client_id, name),
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT num_jobs_completed_zero_or_positive CHECK (num_jobs_completed >= 0),
    CONSTRAINT num_jobs_running_zero_or_positive CHECK (num_jobs_running >= 0)
);
CREATE TABLE river_job (
    id integer PRIMARY KEY, -- SQLite makes this autoincrementing automatically
    args blob NOT NULL DEFAULT '{}',
    attempt integer NOT NULL DEFAULT 0,
    attempted_at timestamp,
    attempted_by blob, -- json
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    errors blob, -- json
    finalized_at timestamp,
    kind text NOT NULL,
    max_attempts integer NOT NULL,
    metadata blob NOT NULL DEFAULT (json('{}')),
    priority integer NOT NULL DEFAULT 1,
    queue text NOT NULL DEFAULT 'default',
    state text NOT NULL DEFAULT 'available',
    scheduled_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    tags blob NOT NULL DEFAULT (json('[]')),
    unique_key blob,
    unique_states integer,
    CONSTRAINT finalized_or_finalized_at_null CHECK (
        (finalized_at IS NULL AND state NOT IN ('cancelled', 'completed', 'discarded')) OR
        (finalized_at IS NOT NULL AND state IN ('cancelled', 'completed', 'discarded'))
    ),
    CONSTRAINT priority_in_range CHECK (priority >= 1 AND priority <= 4),
    CONSTRAINT queue_length CHECK (length(queue) > 0 AND length(queue) < 128),
    CONSTRAINT kind_length CHECK (length(kind) > 0 AND length(kind) < 128),
    CONSTRAINT state_valid CHECK (state IN ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled'))
);
INSERT INTO "river_job" VALUES(1,X'7B226B696E64223A22726567697374726174696F6E222C226964223A2265613034666164302D306538312D343333622D616165632D323462636537346436353730222C22676976656E223A313739353339323837313130353333397D',1,'2026-11-23 00:14:31.150','["X64QPGCG6V437EXI4BCJSOSYYE"]','2026-11-23 00:14:31.126',NULL,NULL,'wakeup',1,'{"river:unique_nonce":"f33937719b7f58e6"}',1,'default','running','2026-11-23 00:14:31.126','[]',NULL,NULL);
INSERT INTO "river_job" VALUES(2,X'7B226B696E64223A22726567697374726174696F6E222C226964223A2264326366303365302D656239392D346632382D393265652D656330316463313165666134222C22676976656E223A313739353339323837313235373432387D',1,'2026-11-23 00:14:31.280','["X64QPGCG6V437EXI4BCJSOSYYE"]','2026-11-23 00:14:31.259',NULL,NULL,'wakeup',1,'{"river:unique_nonce":"bcc7a997e901f80e"}',1,'default','running','2026-11-23 00:14:31.259','[]',NULL,NULL);
INSERT INTO "river_job" VALUES(3,X'7B226B696E64223A226E6F626F6479222C226964223A2277616974732D666F722D612D776F726B6572222C22676976656E223A313739353339323837313331313530347D',1,'2026-11-23 00:14:31.333','["X64QPGCG6V437EXI4BCJSOSYYE"]','2026-11-23 00:14:31.331',NULL,'2026-11-23 00:14:31.395076305 +0000 UTC m=+13.217660618','wakeup',1,'{"river:unique_nonce":"b3a8e7765dbb7353"}',1,'default','completed','2026-11-23 00:14:31.331','[]',NULL,NULL);
INSERT INTO "river_job" VALUES(4,X'7B226B696E64223A226E6F626F6479222C226964223A2277616974732D666F722D612D776F726B6572222C22676976656E223A313739353339323837323338343033397D',1,'2026-11-23 00:14:32.414','["X64QPGCG6V437EXI4BCJSOSYYE"]','2026-11-23 00:14:32.385',NULL,'2026-11-23 00:14:32.420187605 +0000 UTC m=+14.242771912','wakeup',1,'{"river:unique_nonce":"f619ec11946df82b"}',1,'default','completed','2026-11-23 00:14:32.385','[]',NULL,NULL);
INSERT INTO "river_job" VALUES(5,X'7B226B696E64223A226E6F626F6479222C226964223A2277616974732D666F722D612D776F726B6572222C22676976656E223A313739353339323837343432373333357D',1,'2026-11-23 00:14:34.451','["X64QPGCG6V437EXI4BCJSOSYYE"]','2026-11-23 00:14:34.428',NULL,'2026-11-23 00:14:34.452939487 +0000 UTC m=+16.275523806','wakeup',1,'{"river:unique_nonce":"8c3c736eb4b68a9f"}',1,'default','completed','2026-11-23 00:14:34.428','[]',NULL,NULL);
CREATE TABLE river_leader (
    elected_at timestamp NOT NULL,
    expires_at timestamp NOT NULL,
    leader_id text NOT NULL,
    name text PRIMARY KEY NOT NULL DEFAULT 'default' CHECK (name = 'default'),
    CONSTRAINT name_length CHECK (length(name) > 0 AND length(name) < 128),
    CONSTRAINT leader_id_length CHECK (length(leader_id) > 0 AND length(leader_id) < 128)
);
INSERT INTO "river_leader" VALUES('2026-11-23 00:14:31.104','2026-11-23 00:14:51.119','X64QPGCG6V437EXI4BCJSOSYYE','default');
CREATE TABLE river_migration (
    line text NOT NULL,
    version integer NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT line_length CHECK (length(line) > 0 AND length(line) < 128),
    CONSTRAINT version_gte_1 CHECK (version >= 1),
    PRIMARY KEY (line, version)
);
INSERT INTO "river_migration" VALUES('main',1,'2026-11-23 00:14:30');
INSERT INTO "river_migration" VALUES('main',2,'2026-11-23 00:14:30');
INSERT INTO "river_migration" VALUES('main',3,'2026-11-23 00:14:30');
INSERT INTO "river_migration" VALUES('main',4,'2026-11-23 00:14:30');
INSERT INTO "river_migration" VALUES('main',5,'2026-11-23 00:14:30');
INSERT INTO "river_migration" VALUES('main',6,'2026-11-23 00:14:30');
CREATE TABLE river_queue (
    name text PRIMARY KEY NOT NULL,
    created_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    metadata blob NOT NULL DEFAULT (json('{}')),
    paused_at timestamp,
    updated_at timestamp NOT NULL
);
INSERT INTO "river_queue" VALUES('default','2026-11-23 00:14:31.104','{}',NULL,'2026-11-23 00:14:31.104');
CREATE TABLE s3_buckets (
    name        TEXT NOT NULL,
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    versioning  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE s3_documents (
    bucket      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    body        TEXT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (bucket, kind)
);
CREATE TABLE s3_objects (
    bucket      TEXT NOT NULL,
    object_key  TEXT NOT NULL,
    version     TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    latest      BOOLEAN NOT NULL,
    marker      BOOLEAN NOT NULL,
    size        BIGINT NOT NULL,
    etag        TEXT NOT NULL,
    hash        TEXT NOT NULL,
    segments    BIGINT NOT NULL,
    upload      TEXT NOT NULL,
    attributes  TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (bucket, object_key, version)
);
CREATE TABLE s3_parts (
    upload      TEXT NOT NULL,
    number      BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    etag        TEXT NOT NULL,
    hash        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (upload, number)
);
CREATE TABLE s3_segments (
    upload      TEXT NOT NULL,
    number      BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    hash        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    PRIMARY KEY (upload, number)
);
CREATE TABLE s3_uploads (
    id          TEXT NOT NULL,
    bucket      TEXT NOT NULL,
    object_key  TEXT NOT NULL,
    attributes  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE sealing_keys (
    id          TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE simulated_keys (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_name TEXT NOT NULL,
    identifier_key TEXT NOT NULL,
    identifier TEXT NOT NULL,
    PRIMARY KEY (account, region, type_name, identifier_key)
);
CREATE TABLE simulated_resources (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_name TEXT NOT NULL,
    identifier TEXT NOT NULL,
    token TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    PRIMARY KEY (account, region, type_name, identifier)
);
CREATE TABLE sm_secrets (
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT NOT NULL,
    arn         TEXT NOT NULL,
    description TEXT,
    key_id      TEXT,
    policy      TEXT,
    tags        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    changed_at  BIGINT NOT NULL,
    deleted_at  BIGINT,
    purge_at    BIGINT,
    row_version BIGINT NOT NULL,
    PRIMARY KEY (account, region, name)
);
CREATE TABLE sm_versions (
    arn         TEXT NOT NULL,
    version     TEXT NOT NULL,
    stages      TEXT NOT NULL,
    form        TEXT NOT NULL,
    sealed      TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (arn, version)
);
CREATE TABLE ssm_parameters (
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT NOT NULL,
    version     BIGINT NOT NULL,
    tags        TEXT NOT NULL,
    PRIMARY KEY (account, region, name)
);
CREATE TABLE ssm_versions (
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT NOT NULL,
    version     BIGINT NOT NULL,
    type        TEXT NOT NULL,
    value       TEXT NOT NULL,
    sealed      BOOLEAN NOT NULL,
    labels      TEXT NOT NULL,
    description TEXT,
    pattern     TEXT,
    key_id      TEXT,
    tier        TEXT NOT NULL,
    data_type   TEXT NOT NULL,
    modified_by TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, name, version)
);
CREATE TABLE stack_cleanup (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    type TEXT NOT NULL,
    type_version TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    properties TEXT NOT NULL,
    model TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    policy TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE stack_deployments (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    original TEXT NOT NULL,
    processed TEXT NOT NULL,
    parameters TEXT NOT NULL,
    tags TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    notification_arns TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE stack_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    client_token TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    detailed_status TEXT NOT NULL,
    properties TEXT NOT NULL,
    details TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE TABLE stack_exports (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (account, region, name)
);
CREATE TABLE stack_imports (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    PRIMARY KEY (account, region, name, stack_id)
);
CREATE TABLE stack_operations (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    client_token TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    options TEXT NOT NULL,
    deployment_id TEXT NOT NULL,
    change_set_id TEXT NOT NULL,
    cancelled BOOLEAN NOT NULL,
    caller TEXT NOT NULL,
    deadline BIGINT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE TABLE stack_resources (
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    type TEXT NOT NULL,
    type_version TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    properties TEXT NOT NULL,
    model TEXT NOT NULL,
    metadata TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    deletion_policy TEXT NOT NULL,
    update_replace_policy TEXT NOT NULL,
    references_hash TEXT NOT NULL,
    origin TEXT NOT NULL,
    drift TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (stack_id, logical_id)
);
CREATE TABLE stack_signals (
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    unique_id TEXT NOT NULL,
    status TEXT NOT NULL,
    data TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (stack_id, logical_id, unique_id)
);
CREATE TABLE stack_steps (
    id TEXT NOT NULL PRIMARY KEY,
    operation_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    cleanup_id TEXT NOT NULL,
    after TEXT NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    properties TEXT NOT NULL,
    pending TEXT NOT NULL,
    call_id TEXT NOT NULL,
    seen BOOLEAN NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
);
CREATE TABLE stacks (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    arn TEXT NOT NULL,
    live BOOLEAN NOT NULL,
    status TEXT NOT NULL,
    detailed_status TEXT NOT NULL,
    reason TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    deployment_id TEXT NOT NULL,
    stable_deployment_id TEXT NOT NULL,
    change_set_id TEXT NOT NULL,
    role_arn TEXT NOT NULL,
    settings TEXT NOT NULL,
    protected BOOLEAN NOT NULL,
    outputs TEXT NOT NULL,
    policy TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    drift TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    deleted_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE TABLE sts_sessions (
    access_key  TEXT NOT NULL,
    account     TEXT NOT NULL,
    arn         TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    sealed      TEXT NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (access_key)
);
CREATE TABLE test_runs (
    id TEXT NOT NULL PRIMARY KEY,
    source_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    version BIGINT NOT NULL,
    status TEXT NOT NULL,
    description TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    bucket TEXT NOT NULL,
    delivery TEXT NOT NULL,
    caller TEXT NOT NULL,
    passed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    report_hash TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE TABLE type_configurations (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_arn TEXT NOT NULL,
    alias TEXT NOT NULL,
    configuration TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, type_arn, alias)
);
CREATE TABLE type_versions (
    id TEXT NOT NULL PRIMARY KEY,
    type_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    deprecated BOOLEAN NOT NULL,
    package_hash TEXT NOT NULL,
    package_url TEXT NOT NULL,
    runtime TEXT NOT NULL,
    entrypoint TEXT NOT NULL,
    description TEXT NOT NULL,
    source_url TEXT NOT NULL,
    documentation_url TEXT NOT NULL,
    provisioning_type TEXT NOT NULL,
    execution_role TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    required_types TEXT NOT NULL,
    test_status TEXT NOT NULL,
    test_status_description TEXT NOT NULL,
    public_version TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL,
    configuration_schema TEXT NOT NULL,
    settings TEXT NOT NULL,
    schema TEXT NOT NULL
);
CREATE TABLE types (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    default_version BIGINT,
    next_version BIGINT NOT NULL,
    deprecated BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
INSERT INTO "types" VALUES('da155c80-d567-4b5f-baca-16abfe78c027','123456789012','eu-west-1','MODULE','LocalStack::Testing::TestModule::MODULE',NULL,2,0,1795392871046759,1795392871046759,0);
INSERT INTO "types" VALUES('da25518f-4151-49ba-9b73-d370dce6e792','123456789012','eu-west-1','RESOURCE','Acme::Upgrade::Missing',NULL,2,0,1795392871219659,1795392871219659,0);
CREATE TABLE wakeups (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    due BIGINT,
    queued BIGINT NOT NULL DEFAULT 0,
    node TEXT NOT NULL DEFAULT '',
    attempts BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT wakeups_pkey PRIMARY KEY (kind, id)
);
INSERT INTO "wakeups" VALUES('registration','ea04fad0-0e81-433b-aaec-24bce74d6570',NULL,0,'L4SQ3EKVXXVQOYHW7XFNLCEW3B',0);
INSERT INTO "wakeups" VALUES('registration','d2cf03e0-eb99-4f28-92ee-ec01dc11efa4',NULL,0,'L4SQ3EKVXXVQOYHW7XFNLCEW3B',0);
INSERT INTO "wakeups" VALUES('nobody','waits-for-a-worker',1795392878452746,0,'',3);
CREATE UNIQUE INDEX types_by_name ON types (account, region, kind, type_name);
CREATE INDEX types_in_order ON types (account, region, type_name, kind);
CREATE UNIQUE INDEX type_versions_by_number ON type_versions (type_id, version);
CREATE INDEX type_versions_by_package ON type_versions (package_hash);
CREATE UNIQUE INDEX registrations_by_client_token ON registrations (account, region, client_token);
CREATE INDEX registrations_in_order ON registrations (account, region, status, created_at, token);
CREATE INDEX registrations_by_type ON registrations (type_id, status);
CREATE INDEX registrations_by_package ON registrations (package_hash);
CREATE UNIQUE INDEX publishers_by_id ON publishers (publisher_id);
CREATE UNIQUE INDEX publications_by_number ON publications (region, kind, publisher_id, type_name, number);
CREATE UNIQUE INDEX publications_by_version ON publications (region, kind, publisher_id, type_name, major, minor, patch);
CREATE UNIQUE INDEX publications_by_source ON publications (source_id);
CREATE INDEX publications_in_order ON publications (region, latest, type_name, kind, publisher_id);
CREATE INDEX publications_by_package ON publications (package_hash);
CREATE INDEX activations_in_order ON activations (account, region, type_name, kind);
CREATE INDEX activations_of_type ON activations (region, kind, publisher_id, original_type_name, account, type_name);
CREATE INDEX activations_of_publication ON activations (publication_id);
CREATE INDEX test_runs_of_type ON test_runs (account, region, kind, type_name, started_at);
CREATE INDEX test_runs_in_order ON test_runs (account, region, started_at);
CREATE INDEX test_runs_of_source ON test_runs (source_id, status);
CREATE INDEX test_runs_by_report ON test_runs (report_hash);
CREATE INDEX handler_progress_by_expiry ON handler_progress (expires_at);
CREATE INDEX s3_buckets_account ON s3_buckets (account);
CREATE INDEX s3_objects_hash ON s3_objects (hash);
CREATE INDEX s3_objects_upload ON s3_objects (upload);
CREATE UNIQUE INDEX s3_objects_sequence ON s3_objects (bucket, object_key, sequence);
CREATE INDEX s3_segments_hash ON s3_segments (hash);
CREATE INDEX s3_uploads_object ON s3_uploads (bucket, object_key, id);
CREATE INDEX s3_parts_hash ON s3_parts (hash);
CREATE INDEX sts_sessions_expiry ON sts_sessions (expires_at);
CREATE UNIQUE INDEX sm_secrets_arn ON sm_secrets (arn);
CREATE INDEX sm_secrets_purge ON sm_secrets (purge_at);
CREATE UNIQUE INDEX logs_groups_name ON logs_groups (account, region, name);
CREATE INDEX logs_events_time ON logs_events (group_id, at, sequence);
CREATE INDEX logs_events_stream ON logs_events (group_id, stream, at, sequence);
CREATE INDEX invocations_of_type ON invocations (account, region, kind, type_name, started_at);
CREATE INDEX invocations_in_order ON invocations (started_at);
CREATE INDEX wakeups_due ON wakeups (node, queued, due);
CREATE INDEX operations_by_token ON operations (token);
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX stacks_live ON stacks (account, region, name) WHERE live;
CREATE UNIQUE INDEX stacks_by_arn ON stacks (arn);
CREATE INDEX stacks_in_order ON stacks (account, region, created_at, id);
CREATE INDEX stacks_of_parent ON stacks (parent_id);
CREATE INDEX stack_deployments_of_stack ON stack_deployments (stack_id);
CREATE INDEX stack_operations_of_stack ON stack_operations (stack_id, started_at);
CREATE INDEX stack_resources_by_physical_id ON stack_resources (physical_id);
CREATE INDEX stack_cleanup_of_stack ON stack_cleanup (stack_id, logical_id);
CREATE UNIQUE INDEX stack_steps_of_operation ON stack_steps (operation_id, stage, logical_id, cleanup_id);
CREATE INDEX stack_steps_unseen ON stack_steps (operation_id, seen);
CREATE INDEX stack_events_of_stack ON stack_events (stack_id, seq);
CREATE INDEX stack_events_of_operation ON stack_events (operation_id, seq);
CREATE INDEX stack_exports_of_stack ON stack_exports (stack_id);
CREATE INDEX stack_imports_of_stack ON stack_imports (stack_id);
CREATE UNIQUE INDEX change_sets_live ON change_sets (stack_id, name) WHERE live;
CREATE UNIQUE INDEX change_sets_by_arn ON change_sets (arn);
CREATE INDEX change_sets_of_stack ON change_sets (stack_id, created_at);
CREATE INDEX simulated_keys_of_resource ON simulated_keys (account, region, type_name, identifier);
CREATE INDEX river_job_kind ON river_job (kind);
CREATE INDEX river_job_state_and_finalized_at_index ON river_job (state, finalized_at) WHERE finalized_at IS NOT NULL;
CREATE INDEX river_job_prioritized_fetching_index ON river_job (state, queue, priority, scheduled_at, id);
CREATE UNIQUE INDEX river_job_unique_idx ON river_job (unique_key)
    WHERE unique_key IS NOT NULL
        AND unique_states IS NOT NULL
        AND CASE state
            WHEN 'available' THEN unique_states & (1 << 0)
            WHEN 'cancelled' THEN unique_states & (1 << 1)
            WHEN 'completed' THEN unique_states & (1 << 2)
            WHEN 'discarded' THEN unique_states & (1 << 3)
            WHEN 'pending'   THEN unique_states & (1 << 4)
            WHEN 'retryable' THEN unique_states & (1 << 5)
            WHEN 'running'   THEN unique_states & (1 << 6)
            WHEN 'scheduled' THEN unique_states & (1 << 7)
            ELSE 0
        END >= 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('formwork_migrations',9);
COMMIT;
