/** Codes of object storage; see RequestCodes.ts. */
export const storageCodes = {
  METADATA_TOO_LARGE: [400, "The metadata of an object exceeds 2,048 bytes"],
  INVALID_TAG: [400, "The object store rejected an object's tags; the message says why"],
  INVALID_POLICY: [400, "The object store rejected a bucket policy; the message says why"],
  INVALID_PART: [400, "A part is missing, or its ETag differs; see `GET …/multipart/parts`"],
  INVALID_PART_ORDER: [400, "Parts are not in ascending order"],
  PART_TOO_SMALL: [400, "A part other than the last is smaller than 5 MiB"],
  STORE_REFUSED: [400, "The object store rejected the request; the message has its error code"],
  STORE_ACCESS_DENIED: [
    403,
    "The object store denied access to the owner: check the bucket policy and the permissions of `S3_ACCESS_KEY`"
  ],
  BUCKET_RESERVED: [403, "The bucket has the files of [`/storage/v1`](supabase.md#files): use that API"],
  BUCKET_NOT_FOUND: [404, "No such bucket; see `GET /api/storage/buckets`"],
  OBJECT_NOT_FOUND: [404, "No object with this key; keys are case-sensitive and include slashes"],
  UPLOAD_NOT_FOUND: [404, "No such multipart upload, or it was completed or aborted: start a new one"],
  BUCKET_EXISTS: [409, "A bucket with this name already exists"],
  BUCKET_NOT_EMPTY: [
    409,
    "The bucket is not empty: send `?force=true`; with it, the bucket contains something that the store retains"
  ],
  OBJECT_CHANGED: [409, "The object was replaced repeatedly while its metadata was being changed: try again"],
  BACKUP_INVENTORY_MISSING: [
    404,
    "The backup has no [inventory of objects](backups.md#objects-in-the-store): it is of an older version, or the file is elsewhere"
  ],
  OBJECTS_NOT_KEPT: [
    409,
    "The object store does not have the objects of the branch's time ([a branch's objects](storage.md#objects-of-a-branch))"
  ],
  STORE_CONFLICT: [409, "The object store is processing another change of the bucket: try again"],
  RANGE_NOT_SATISFIABLE: [416, "The range is outside the file; `Content-Range` has its size"],
  STORE_UNAVAILABLE: [502, "The object store is unreachable or fails: try again; check the log and `S3_ENDPOINT`"],
  STORE_CREDENTIALS_REFUSED: [
    502,
    "The object store rejected the service: correct `S3_ACCESS_KEY`, `S3_SECRET_KEY`, `S3_REGION`, or the clock"
  ],
  STORE_UNSUPPORTED: [502, "The object store does not support this operation"],
  STORE_UNREADABLE: [502, "The object store returned an invalid policy or invalid CORS rules: set them again"],
  STORE_NO_SPACE: [503, "The object store's disk is full: free some, for example by deleting objects"],
  STORE_BUSY: [503, "The object store is overloaded: wait `Retry-After` seconds"],
  STORE_TIMEOUT: [504, "The object store did not respond within `S3_TIMEOUT`: try again; check the store"]
} as const

/** Codes of queues. */
export const queueCodes = {
  QUEUE_NOT_FOUND: [404, "No such queue; see `GET /api/queues`. Names are as in `pgmq.list_queues()`"],
  QUEUE_EXISTS: [409, "A queue with this name exists, or with one that differs in case only"],
  QUEUE_EXTENSION: [
    501,
    "The schema `pgmq` is [not the service's own](queues.md#the-extension): it has no dead letters, so leave out `max_reads`; or it lacks functions or rights, which the message names"
  ],
  TOO_MANY_RECEIVERS: [
    429,
    "More than 1,000 requests of this caller, or 10,000 of all, wait for messages: receive more messages with fewer requests"
  ]
} as const

/** Codes of feature flags. */
export const flagCodes = {
  INVALID_FLAG: [
    400,
    "Variants, default variant or a rule are invalid; `details` names each place, such as `targeting.if.0.starts_with.1`"
  ],
  INVALID_SEGMENT: [
    400,
    "The segment's rule is invalid, references segments in a cycle, or would make flags and segments that use it invalid; `details` names each"
  ],
  FLAG_NOT_FOUND: [404, "No flag with this key; see `GET /api/flags`"],
  SEGMENT_NOT_FOUND: [404, "No segment with this key; see `GET /api/flags/segments`"],
  FLAG_EXISTS: [409, "A flag with this key already exists: change it with PUT"],
  SEGMENT_EXISTS: [409, "A segment with this key already exists: change it with PUT"],
  SEGMENT_IN_USE: [409, "Flags or segments use the segment; `details` lists them. Change these first"],
  FLAGS_UNAVAILABLE: [
    502,
    "The flagd of `FLAGS_HOST` does not respond, or incorrectly; `SVC_FLAGS_FALLBACK=true` evaluates without it"
  ],
  FLAGS_BEHIND: [
    "502, 503",
    "502: flagd has not loaded a stored flag yet. 503: a change was saved, but is not yet active in this process. Try again"
  ],
  FLAGS_BUSY: [503, "Another change of flags takes too long: try again"],
  FLAGS_TIMEOUT: [504, "flagd did not respond in time"]
} as const

/** Codes of environments, connections and foreign data. */
export const environmentCodes = {
  ENVIRONMENT_CONFIG_TOO_LARGE: [
    400,
    "The environment's `config` would exceed 64 KiB: set keys to null to remove them"
  ],
  FOREIGN_LOGIN_REFUSED: [
    400,
    "The foreign server rejected the mapping's user, password or database; `details` has its message. Recreate the mapping"
  ],
  ENVIRONMENT_LIMIT: [403, "The project has reached `SVC_MAX_ENVIRONMENTS`: delete one, or raise the limit"],
  SCHEMA_NOT_ALLOWED: [
    403,
    "The login of `DATABASE_URL` may not create the schema: grant it CREATE on the database and membership of `SVC_SERVICE_ROLE`"
  ],
  FOREIGN_NOT_ALLOWED: [
    403,
    "The role of service keys lacks a privilege on foreign data: run the statements in `hint` as an administrator"
  ],
  PROJECT_NOT_FOUND: [404, "No such project; the only one is `SVC_PROJECT_ID`"],
  ENVIRONMENT_NOT_FOUND: [404, "No such environment; see `GET /api/projects/{projectId}/environments`"],
  CONNECTION_NOT_FOUND: [404, "No connection with this id; see `GET /api/connections`"],
  FOREIGN_SERVER_NOT_FOUND: [404, "No such foreign server; see `GET /api/sql/fdw`"],
  FOREIGN_WRAPPER_NOT_FOUND: [404, "No such foreign data wrapper: create its extension"],
  FOREIGN_SCHEMA_NOT_FOUND: [404, "The foreign server has no such schema"],
  USER_MAPPING_NOT_FOUND: [
    404,
    "No user mapping for the foreign server: `POST /api/fdw/user-mapping` for `current_user`"
  ],
  ROLE_NOT_FOUND: [404, "No database role with this name"],
  ENVIRONMENT_EXISTS: [409, "An environment with this slug already exists: change it with PATCH"],
  ENVIRONMENT_IS_DEFAULT: [409, "The default environment can't be deleted: make another the default first"],
  SCHEMA_EXISTS: [
    409,
    "A schema with this name already exists, possibly of a deleted environment: choose another slug, or drop schema and bucket"
  ],
  CONNECTION_EXISTS: [409, "A connection with this name already exists"],
  FOREIGN_SERVER_EXISTS: [409, "A foreign server with this name already exists"],
  FOREIGN_SERVER_IN_USE: [409, "The foreign server has foreign tables: drop them, or send `cascade=true`"],
  USER_MAPPING_EXISTS: [409, "The role already has a mapping on this server: drop it first"],
  FOREIGN_TABLE_EXISTS: [
    409,
    "A table of the import already exists, and nothing was imported: choose another schema, or drop it"
  ],
  FOREIGN_SERVER_UNREACHABLE: [502, "PostgreSQL can't reach the foreign server: check host, port and firewall"],
  ENVIRONMENTS_BUSY: [503, "Another environment is being created: try again"]
} as const

/** Codes of migrations. */
export const migrationCodes = {
  MIGRATION_NAME: [400, "The name of the migration is invalid"],
  MIGRATION_TABLE_CLOSED: [403, "The database login lacks privileges on the migration tool's table: grant them"],
  MIGRATION_NOT_FOUND: [404, "No such migration; see `GET /api/migrations/idempotent/status`"],
  MIGRATION_MODIFIED: [409, "A migration was changed after it was applied: restore the file, and write a new one"],
  MIGRATION_UNFINISHED: [409, "A migration of Prisma's history has failed: `POST /api/migrations/resolve`"],
  MIGRATION_APPLIED: [409, "A baseline names a migration that is not pending"],
  MIGRATION_LAYOUT: [409, "The tool of the history writes its files itself: run it"],
  MIGRATIONS_PENDING: [409, "Other migrations are pending, which come before a new one: run them first"],
  MIGRATION_NOT_WRITABLE: [422, "`MIGRATIONS_DIR` can't be written to: download the migration, and deploy it"],
  MIGRATION_NOT_ATOMIC: [422, "A new migration that is to be run at once must run in one transaction"],
  MIGRATION_NOT_FAILED: [
    409,
    "The migration to resolve is not unfinished; see `GET /api/migrations/idempotent/status`"
  ],
  MIGRATION_TOOL_UNCLEAR: [409, "The tables of two migration tools exist: set `MIGRATIONS_TOOL`"],
  MIGRATION_TOOL_UNSUPPORTED: [409, "Another tool keeps the history: run that tool"],
  MIGRATIONS_BUSY: [409, "Another run is in progress"],
  MIGRATION_FAILED: [
    "409, 422",
    "A statement failed; `details` has file, line and SQLSTATE. 409: the failure is transient, try again. 422: correct the file"
  ],
  MIGRATION_NOT_RUNNABLE: [
    422,
    "The file leaves a transaction open, reads from stdin, or has a down section ([migrations](migrations.md))"
  ],
  MIGRATION_UNREADABLE: [
    422,
    "The file is not UTF-8, exceeds 16 MiB, or is outside the directory; or the journal is invalid"
  ]
} as const

/** Codes of branches and backups. */
export const branchCodes = {
  BRANCH_OBJECTS_READ_ONLY: [
    409,
    "The branch shows the objects of an earlier time, which can only be listed and read: omit `X-Svc-Branch` to change those of now"
  ],
  BRANCH_CLOSED: [
    403,
    'The branch serves service keys alone ([branches](branches.md#access)): open it by `PATCH /api/branches/{id}` `{"access": "clients"}`'
  ],
  BRANCH_NOT_ALLOWED: [403, "The database login lacks CREATEDB, CREATEROLE or ownership; see `hint`"],
  COMPARE_CURSOR: [400, "The `cursor` is not that of a comparison of this table and key: begin again without one"],
  COPY_INVALID_ROWS: [400, "A key or token is not that of a comparison, or a table is given twice"],
  COPY_DELETE_NOT_CHOSEN: [
    400,
    'Some of the rows are only in the main database, and would be deleted: send `"delete": true` for the table, or omit them'
  ],
  COMPARE_TABLE_MISSING: [
    404,
    "The branch or the main database has no such table; see `GET /api/branches/{id}/tables`"
  ],
  COPY_ROWS_CHANGED: [
    409,
    "Rows have changed since they were compared or counted; `details` names the first. Nothing was copied: compare again"
  ],
  COMPARE_NOT_A_TABLE: [422, "Views and foreign tables can't be compared"],
  COMPARE_NO_KEY: [
    422,
    "The table has no primary key, or unique index of columns that are not null, in both databases; `hint` lists those that can be chosen"
  ],
  COMPARE_KEY_TYPE: [422, "A column of the key has a type that can't be compared by its order: choose another `key`"],
  COPY_TOO_MANY: [422, "More than 10,000 rows are to be copied: copy fewer in a request"],
  COPY_TOO_LARGE: [422, "The rows to be copied have more than 64 MiB: copy fewer in a request"],
  SCHEMA_CHANGED: [409, "The main database's schema changed since it was compared: compare again"],
  SCHEMA_TOO_LARGE: [422, "The schema has more than 200,000 objects of a kind: compare dumps with another tool"],
  SCHEMA_NOT_EXPRESSIBLE: [
    422,
    "The difference of two schemas can't be written as statements; `details` has the reason"
  ],
  SCHEMA_TIMEOUT: [504, "The comparison of two schemas took over 2 minutes"],
  COPY_TIMEOUT: [504, "The copy took over 2 minutes, and nothing was copied: copy fewer rows in a request"],
  BRANCH_NOT_FOUND: [404, "No such branch, or it expired or was dropped; see `GET /api/branches`"],
  BACKUP_NOT_FOUND: [404, "No such backup; see `GET /api/backups`"],
  BACKUP_FILE_MISSING: [
    404,
    "The backup's file is neither on this replica nor in the bucket: share `SVC_BACKUP_DIR`, or set `SVC_BACKUP_BUCKET`"
  ],
  BRANCH_IN_PROGRESS: [409, "Other branches have been in creation for over a minute: try again"],
  BRANCH_DROPPED: [409, "The branch was dropped while it was being created"],
  BRANCH_RESTORING: [409, "The branch is being filled: wait until `GET /api/branches/{id}` returns `active`"],
  BACKUP_LIMIT: [409, "Two backups are running: wait `Retry-After` seconds"],
  BACKUP_NOT_RUNNING: [409, "The backup has finished and can't be cancelled"],
  BACKUP_NOT_COMPLETED: [409, "The backup failed or is running: wait, or use another"],
  BACKUP_IN_USE: [409, "The backup is being restored and can't be deleted: wait `Retry-After` seconds"],
  BACKUP_ALTERED: [
    422,
    "The file's SHA-256 or size is not the backup's; nothing of it was run. Put the original back into `SVC_BACKUP_DIR` or the bucket"
  ],
  BACKUP_UNVERIFIED: [
    422,
    "The backup has no digest, and its only file is in a bucket ([backups](backups.md#restore)): put the file into `SVC_BACKUP_DIR` if you trust it"
  ],
  RESTORE_FAILED: [422, "The backup could not be restored; `details` says why. The branch was dropped"],
  TARGET_TIME_OUTSIDE: [422, "The archive does not have this time; `details` has the earliest and the latest one"],
  RECOVERY_KEY_WRONG: [422, "The text is no recovery key, or not the archive's current one"],
  DRILL_RUNNING: [409, "A drill of the recovery is running already"],
  PITR_NOT_CONFIGURED: [501, "No point-in-time recovery: set `SVC_PITR` ([recovery](recovery.md))"],
  PITR_ARCHIVE_UNUSABLE: [
    503,
    "The archive can't be read or written, or belongs to another cluster; `details` says why"
  ],
  PITR_TOOL_MISSING: [503, "A recovery needs the server programs of PostgreSQL's version on the service's machine"],
  PITR_NO_SPACE: [503, "Not enough disk space for a temporary server and a dump"],
  BRANCH_POOL_EXHAUSTED: [
    503,
    "All connections to branches were in use for 4 s: try again; raise `SVC_BRANCH_MAX_CONNECTIONS`"
  ],
  BRANCH_SOURCE_BUSY: [
    503,
    "The main database can't be copied now: long statements, migrations, a backup or dump, prepared transactions, or sessions that may not be terminated; `details` says which. Try again"
  ],
  BRANCH_TIMEOUT: [503, "The copy exceeded `SVC_BRANCH_TIMEOUT`"],
  BRANCH_NO_SPACE: [503, "Not enough disk space for a copy"],
  BRANCH_IN_USE: [
    503,
    "The branch is deleted, but sessions that the service may not terminate use its database: the service retries"
  ],
  BRANCH_DUMP_FAILED: [503, "The database could not be dumped into a new branch; `details` says why"],
  BACKUP_DIR_UNUSABLE: [503, "`SVC_BACKUP_DIR` can't be created, read or written: correct its permissions"],
  BACKUP_NO_SPACE: [503, "Less than 64 MiB of disk space is free in `SVC_BACKUP_DIR`"],
  BACKUP_SOURCE_BUSY: [503, "A branch has been copied for more than a minute: try again"],
  BACKUP_NOT_STOPPED: [503, "A running backup did not stop within 30 s: try again"],
  BACKUP_TOOL_MISSING: [
    503,
    "No program can create or read this backup: install those named in `hint`, or set `PG_BIN_DIR`"
  ]
} as const

/** Codes of schedules; see RequestCodes.ts. */
export const scheduleCodes = {
  SCHEDULE_TIMES: [400, "The schedule's `cron` or `timezone` is invalid, or has no times; the message says why"],
  SCHEDULE_ROLE: [400, "The role of a schedule does not exist"],
  SCHEDULE_ROLE_DENIED: [403, "The role of service keys is no member of the schedule's role"],
  SCHEDULE_NOT_FOUND: [404, "No such schedule; see `GET /api/schedules`"],
  SCHEDULE_EXISTS: [409, "Another schedule has this name"],
  SCHEDULE_OWN: [409, "The schedule is a job of the service, which follows its settings; it can be run, not changed"],
  SCHEDULE_RUNNING: [409, "The schedule is running already, and its `overlap` does not let it run twice"]
} as const

/** Codes of the workspace. */
export const workspaceCodes = {
  WORKSPACE_NOT_OWNER: [403, "The item is shared by its owner, who alone may change it: save a copy of your own"],
  WORKSPACE_ITEM_NOT_FOUND: [404, "No such item, or it is not shared with you; see `GET /api/workspace/items`"],
  WORKSPACE_NAME_TAKEN: [409, "You have an item of this kind with this name, for a view of the same table: change it"],
  WORKSPACE_FULL: [409, "You have 500 items of this kind: delete one"]
} as const
