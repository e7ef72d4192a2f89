import { functionOfUrl } from "../functions/Function.ts"
import { type ApiKey } from "../access/ApiKey.ts"
import { type Backup } from "../backups/Backup.ts"
import { type Branch } from "../branches/Branch.ts"
import { type RowCopyResult } from "../branches/rows/Comparison.ts"
import { type Environment } from "../environments/Environment.ts"
import { type NewForeignServer } from "../foreign/ForeignData.ts"
import { type Identity } from "../identity/Identity.ts"
import { type OAuth2Client } from "../oauth2/OAuth2.ts"
import { type ScheduleRecord } from "../schedules/Schedule.ts"
import { type Webhook } from "../webhooks/Webhook.ts"
import { type WorkspaceEntry } from "../workspace/Item.ts"

/**
 * What the audit keeps of each record, by name: a field that is added to a record later is not kept until it is listed here.
 * Nothing secret: of a webhook's URL and headers, which often contain a token, the origin and the names; no connection
 * strings; of accounts, nothing personal, because entries can't be deleted on request.
 */

export const shownKey = ({ key_type, label, rate_limit, revoked_at }: ApiKey) => ({
  key_type,
  label,
  rate_limit,
  revoked: revoked_at !== null
})

export const shownWebhook = ({
  active,
  events,
  format,
  has_secret,
  headers,
  name,
  table_name,
  table_schema,
  url
}: Webhook) => ({
  name,
  table: `${table_schema}.${table_name}`,
  events,
  format,
  origin: functionOfUrl(url) === undefined ? (URL.canParse(url) ? new URL(url).origin : null) : url,
  headers: Object.keys(headers),
  has_secret,
  active
})

/** The fields of a change whose values are not kept, by name. */
export const shownReplaced = (change: Readonly<Record<string, unknown>>, secret: ReadonlyArray<string>) => {
  const replaced = secret.filter((name) => change[name] !== undefined)
  return replaced.length === 0 ? {} : { replaced }
}

/** Keeps the names only of the configuration, whose values may be secret. */
export const shownEnvironment = ({ config, is_default, name, slug }: Environment) => ({
  name,
  slug,
  is_default,
  config: Object.keys(config)
})

export const shownBranch = ({
  access,
  database_name,
  expires_at,
  label,
  objects_at,
  source_backup_id,
  ttl_hours
}: Omit<Branch, "connection">) => ({
  label,
  database_name,
  access,
  ttl_hours,
  expires_at,
  source_backup_id,
  objects_at
})

/** Numbers only: keys and values are data of users. */
export const shownRowCopy = ({ dry_run, tables }: RowCopyResult) => ({
  dry_run,
  tables: tables.map(({ deleted, inserted, schema, skipped, table, updated }) => ({
    table: `${schema}.${table}`,
    inserted,
    updated,
    deleted,
    skipped
  }))
})

export const shownBackup = ({ format, label, size_bytes, status }: Backup) => ({ label, status, format, size_bytes })

export const shownServer = ({ dbname, fdw_name, host, port }: NewForeignServer) => ({
  host: host ?? null,
  port: port === undefined ? null : String(port),
  dbname: dbname ?? null,
  fdw_name: fdw_name ?? null
})

/** `svc_role` decides whether the identity is an administrator. */
export const shownIdentity = ({ metadata_public, state }: Identity) => ({
  state,
  svc_role: typeof metadata_public["svc_role"] === "string" ? metadata_public["svc_role"] : null
})

/** Keeps the role and ban that service keys set by `/auth/v1/admin`, and the names of the other fields. */
export const shownUser = ({ ban_duration, role, ...rest }: Readonly<Record<string, unknown>>) => ({
  ...(ban_duration == null ? {} : { ban_duration }),
  ...(role == null ? {} : { role }),
  ...shownReplaced(
    rest,
    Object.keys(rest).filter((name) => name !== "id")
  )
})

/** Keeps the fields of a `/storage/v1` bucket that were set. */
export const shownFileBucket = (given: {
  readonly public?: boolean | undefined
  readonly file_size_limit?: number | null | undefined
  readonly allowed_mime_types?: ReadonlyArray<string> | null | undefined
}) => {
  const { allowed_mime_types, file_size_limit, public: isPublic } = given
  const set = Object.entries({ public: isPublic, file_size_limit, allowed_mime_types })
  return Object.fromEntries(set.filter(([, value]) => value !== undefined))
}

export const shownClient = (client: OAuth2Client) => ({
  client_name: client.client_name,
  redirect_uris: client.redirect_uris,
  post_logout_redirect_uris: client.post_logout_redirect_uris,
  allowed_cors_origins: client.allowed_cors_origins,
  grant_types: client.grant_types,
  scope: client.scope,
  audience: client.audience,
  token_endpoint_auth_method: client.token_endpoint_auth_method,
  skip_consent: client.skip_consent
})

/** Of private items, not the name either: all administrators read the audit. */
export const shownItem = ({ kind, name, shared }: WorkspaceEntry) =>
  shared ? { kind, name, shared } : { kind, shared }

/** SQL, arguments and bodies may contain secrets. */
export const shownSchedule = ({
  active,
  catch_up,
  cron,
  name,
  origin,
  overlap,
  retries,
  role,
  target,
  timeout,
  timezone
}: ScheduleRecord) => ({
  name,
  origin,
  cron,
  timezone,
  target: target.type,
  origin_of_url: target.type === "http" && URL.canParse(target.url) ? new URL(target.url).origin : null,
  role,
  active,
  overlap,
  catch_up,
  timeout,
  retries
})
