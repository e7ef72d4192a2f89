import { Latencies } from "../requests/Latencies.ts"

interface Family {
  readonly type: "counter" | "gauge" | "histogram"
  readonly help: string
  readonly labels: ReadonlyArray<string>
  /** The upper bounds of a histogram. */
  readonly bounds?: ReadonlyArray<number>
}

/**
 * Every metric of the service. Labels have few values: a caller can neither choose one nor make new ones, and none names a
 * key, an identity, a table or an address. The names of functions come from deployments.
 */
export const catalogue = {
  svc_build_info: {
    type: "gauge",
    help: "Always 1; the labels are the version and commit of the service, and the version of Node.",
    labels: ["version", "commit", "node"]
  },
  process_start_time_seconds: {
    type: "gauge",
    help: "When the process started, in seconds since 1970.",
    labels: ["process"]
  },
  process_cpu_seconds_total: {
    type: "counter",
    help: "Processor time of the process.",
    labels: ["process"]
  },
  process_resident_memory_bytes: { type: "gauge", help: "Resident memory of the process.", labels: ["process"] },
  svc_heap_bytes: { type: "gauge", help: "JavaScript heap in use.", labels: ["process"] },
  svc_event_loop_delay_seconds: {
    type: "histogram",
    help: "How much later than due a timer ran, measured ten times a second.",
    labels: ["process"],
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
  },
  svc_event_loop_busy_seconds_total: {
    type: "counter",
    help: "Time in which the event loop was not waiting.",
    labels: ["process"]
  },
  svc_http_requests_total: {
    type: "counter",
    help: "Requests of the API that have ended, without probes. 499: the client disconnected; 101: a WebSocket.",
    labels: ["method", "route", "status"]
  },
  svc_http_request_duration_seconds: {
    type: "histogram",
    help: "Time until the response began.",
    labels: ["method", "route"],
    bounds: Latencies.bounds
  },
  svc_http_response_bytes_total: {
    type: "counter",
    help: "Bytes of response bodies whose length was known.",
    labels: ["method", "route"]
  },
  svc_http_refusals_total: {
    type: "counter",
    help: "Requests that were refused because of a limit or an outage (429, 503, 504), by the code of the error.",
    labels: ["code"]
  },
  svc_db_connections: {
    type: "gauge",
    help: "Open connections to PostgreSQL.",
    labels: ["database", "role", "lane", "state"]
  },
  svc_db_connections_limit: {
    type: "gauge",
    help: "The most connections that the lane opens; of branches, in each open branch.",
    labels: ["database", "role", "lane"]
  },
  svc_db_waiting: {
    type: "gauge",
    help: "Requests that wait for a connection.",
    labels: ["database", "role", "lane"]
  },
  svc_db_statements_total: {
    type: "counter",
    help: "Statements of rows, functions and realtime that have ended.",
    labels: ["role"]
  },
  svc_db_statements_slow_total: {
    type: "counter",
    help: "Those of them that took a second or more, waiting for a connection included.",
    labels: ["role"]
  },
  svc_db_statements_retried_total: {
    type: "counter",
    help: "Those of them that ran again: late, on a connection of their own; unproven, on a connection for user code; stale, not prepared. What may run user code had not begun.",
    labels: ["role", "reason"]
  },
  svc_realtime_clients: { type: "gauge", help: "Connected clients of /realtime and of channels.", labels: [] },
  svc_realtime_messages_total: { type: "counter", help: "Messages sent to them.", labels: [] },
  svc_webhook_deliveries_total: {
    type: "counter",
    help: "Attempts to deliver a message.",
    labels: ["outcome"]
  },
  svc_schedule_runs_total: {
    type: "counter",
    help: "Attempts to run a schedule, by what it runs: sql, stored_function, function, http, or own for the service's jobs.",
    labels: ["kind", "outcome"]
  },
  svc_schedule_runs_running: { type: "gauge", help: "Runs of schedules in progress.", labels: [] },
  svc_webhook_outbox_messages: {
    type: "gauge",
    help: "Messages of active webhooks that are due or wait for a retry; 10,000 and more are 10,000.",
    labels: []
  },
  svc_webhook_outbox_age_seconds: {
    type: "gauge",
    help: "Age of the oldest of them; 0 without one.",
    labels: []
  },
  svc_queue_calls_total: {
    type: "counter",
    help: "Calls of functions with messages of queues.",
    labels: ["outcome"]
  },
  svc_queue_messages: {
    type: "gauge",
    help: "Messages of all queues; of each queue, 10,000 and more are 10,000.",
    labels: ["state"]
  },
  svc_queue_oldest_age_seconds: {
    type: "gauge",
    help: "Age of the oldest message of all queues that is not dead; 0 without one.",
    labels: []
  },
  svc_queue_receivers: { type: "gauge", help: "Requests that wait for messages of queues.", labels: [] },
  svc_backup_verifications_total: {
    type: "counter",
    help: "Backups that were restored for a trial, or could not be for lack of space (skipped).",
    labels: ["outcome"]
  },
  svc_backups_unrestorable: {
    type: "gauge",
    help: "Completed backups whose verification failed.",
    labels: []
  },
  svc_backup_verified_age_seconds: {
    type: "gauge",
    help: "Time since a backup last passed its verification; none before.",
    labels: []
  },
  svc_changes_read: {
    type: "gauge",
    help: "With SVC_CHANGES=wal: 1 while a process reads the write-ahead log, else 0.",
    labels: []
  },
  svc_changes_slot: {
    type: "gauge",
    help: "1 for what PostgreSQL says of the log that the replication slot needs (wal_status), 0 for the others.",
    labels: ["status"]
  },
  svc_changes_lag_bytes: { type: "gauge", help: "Log that was written and not passed on yet.", labels: [] },
  svc_changes_lag_seconds: {
    type: "gauge",
    help: "How long ago the oldest of it was written, measured every 5 s since the process started.",
    labels: []
  },
  svc_changes_retained_bytes: { type: "gauge", help: "Log that PostgreSQL keeps for the slot.", labels: [] },
  svc_changes_limit_bytes: {
    type: "gauge",
    help: "How much it keeps at most (max_slot_wal_keep_size); missing without a limit.",
    labels: []
  },
  svc_changes_remaining_bytes: {
    type: "gauge",
    help: "Log that may be added before PostgreSQL drops what the slot needs, and changes are missing; missing without a limit.",
    labels: []
  },
  svc_changes_gaps_total: {
    type: "counter",
    help: "How often changes were missing because the slot was lost, as reported by this process.",
    labels: []
  },
  svc_pitr_read: {
    type: "gauge",
    help: "With SVC_PITR: 1 while a process archives the write-ahead log, else 0.",
    labels: []
  },
  svc_pitr_slot: {
    type: "gauge",
    help: "1 for what PostgreSQL says of the log that the archive lacks (wal_status), 0 for the others.",
    labels: ["status"]
  },
  svc_pitr_lag_bytes: { type: "gauge", help: "Log that was written and is not archived yet.", labels: [] },
  svc_pitr_lag_seconds: {
    type: "gauge",
    help: "How long ago the oldest of it was written, measured every 5 s since the process started.",
    labels: []
  },
  svc_pitr_retained_bytes: { type: "gauge", help: "Log that PostgreSQL keeps for the archive.", labels: [] },
  svc_pitr_limit_bytes: {
    type: "gauge",
    help: "How much it keeps at most (max_slot_wal_keep_size); missing without a limit.",
    labels: []
  },
  svc_pitr_remaining_bytes: {
    type: "gauge",
    help: "Log that may be added before PostgreSQL drops what the archive lacks; missing without a limit.",
    labels: []
  },
  svc_pitr_objects_lag_seconds: {
    type: "gauge",
    help: "How far the archive of the embedded store's objects is behind.",
    labels: []
  },
  svc_pitr_drill_failed: { type: "gauge", help: "1 if the last drill of the recovery failed, else 0.", labels: [] },
  svc_pitr_drill_age_seconds: { type: "gauge", help: "How long ago a drill passed.", labels: [] },
  svc_pitr_drill_seconds: { type: "gauge", help: "How long the last drill that passed took.", labels: [] },
  svc_flag_evaluations_total: {
    type: "counter",
    help: "Flags that were evaluated, by all protocols.",
    labels: ["environment"]
  },
  svc_s3_operations_total: {
    type: "counter",
    help: "Calls of the object store by this service, their retries not counted.",
    labels: ["operation", "outcome"]
  },
  svc_s3_bytes_total: {
    type: "counter",
    help: "Bytes of the bodies of these calls, as far as their length was known.",
    labels: ["direction"]
  },
  svc_storage_history_bytes: {
    type: "gauge",
    help: "Bytes of deleted and overwritten objects that the embedded store keeps for point-in-time recovery.",
    labels: []
  },
  svc_s3_endpoint_requests_total: {
    type: "counter",
    help: "Requests that the embedded S3 endpoint answered.",
    labels: ["method", "status"]
  },
  svc_s3_endpoint_bytes_total: {
    type: "counter",
    help: "Bytes that the embedded S3 endpoint received and sent, headers included.",
    labels: ["direction"]
  },
  svc_function_calls_total: {
    type: "counter",
    help: "Calls of functions by outcome: succeeded, failed (answered with 5xx), refused (no answer of the function).",
    labels: ["function", "outcome"]
  },
  svc_function_duration_seconds: {
    type: "histogram",
    help: "Time until a function's response began, its start included.",
    labels: [],
    bounds: Latencies.bounds
  },
  svc_function_processes: { type: "gauge", help: "Processes of a function.", labels: ["function"] },
  svc_function_memory_bytes: {
    type: "gauge",
    help: "Resident memory of a function's processes.",
    labels: ["function"]
  },
  svc_sign_ins_total: {
    type: "counter",
    help: "Sessions that began at the embedded identity provider, by the first factor; a registration begins one too.",
    labels: ["method"]
  },
  svc_sign_ins_refused_total: {
    type: "counter",
    help: "Sign-ins with a password that were refused.",
    labels: ["reason"]
  },
  svc_hook_calls_total: {
    type: "counter",
    help: "Calls of hooks of sign-ins. A hook that fails refuses what it was asked about.",
    labels: ["hook", "outcome"]
  },
  svc_oauth2_logout_notices_total: {
    type: "counter",
    help: "Attempts to notify an app that a session has ended.",
    labels: ["outcome"]
  }
} as const satisfies Readonly<Record<string, Family>>

export type MetricName = keyof typeof catalogue

export const familyOf = (name: MetricName): Family => catalogue[name]

/** The labels that a metric has, all of them. */
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof catalogue)[N]["labels"][number], string>>
