#!/bin/bash
# Creates the tables, and what calls the functions. Needs SVC_URL and SERVICE_KEY.
set -euo pipefail
post() {
  curl --fail-with-body -sS "$SVC_URL$1" -H "apikey: $SERVICE_KEY" -H 'content-type: application/json' "${@:2}"
  echo
}
post /api/migrations/idempotent/run -X POST
post /api/queues -d '{"name": "receipts", "max_reads": 5, "consumer": {"function": "receipt", "batch": 10}}'
post /api/webhooks -d '{"table_name": "orders", "events": ["UPDATE"], "url": "function://paid", "format": "supabase"}'
post /api/schedules -d '{"name": "tidy orders", "cron": "0 3 * * *", "target": {"type": "function", "name": "tidy"}}'
