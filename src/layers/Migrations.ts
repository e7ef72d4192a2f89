import { keys } from "./migrations/0001_keys.ts"
import { realtime } from "./migrations/0002_realtime.ts"
import { webhooks } from "./migrations/0003_webhooks.ts"

/**
 * Our own tables, in schema `svc`. Numbers only grow; a migration that has been released is never edited, because
 * databases that ran it will not run it again.
 */
export const migrations = {
  "0001_keys": keys,
  "0002_realtime": realtime,
  "0003_webhooks": webhooks
}
