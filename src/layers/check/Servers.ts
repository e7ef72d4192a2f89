import { Effect, Layer, Logger, Redacted, type Scope } from "effect"
import { url } from "../../domain/Settings.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { FlagSettings } from "../../services/flags/Settings.ts"
import { AccountSettings } from "../../services/identity/AccountSettings.ts"
import { ObjectStore } from "../../services/ports/ObjectStore.ts"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { idpAddress } from "../identity/Address.ts"
import { oauth2Address } from "../oauth2/Address.ts"
import { layerExternalS3 } from "../storage/Address.ts"
import { layerObjectStore } from "../storage/client/ObjectStore.ts"
import { type Checked, faulty, reasonFor } from "./Finding.ts"

/** How long a server may take to answer, in ms. */
const answerMillis = 5_000

const reasonOf = (cause: unknown): string => {
  const { cause: inner, message } = cause as Error
  return inner instanceof Error && inner.message !== "" ? inner.message : message
}

interface Answering {
  readonly part: string
  readonly setting: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Whether this status is that of a server that works; default: that of any server. */
  readonly works?: (status: number) => boolean
}

/** Checks that a server answers. */
const answering = ({ headers = {}, part, setting, url: address, works = () => true }: Answering) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(address, { headers, redirect: "manual", signal: AbortSignal.timeout(answerMillis) })
      await response.body?.cancel()
      return response.status
    },
    catch: reasonOf
  }).pipe(
    Effect.map((status) =>
      works(status) ? [] : [faulty(part, `${address} (${setting}) answers with status ${status}`)]
    ),
    Effect.catch((reason) => Effect.succeed([faulty(part, `${address} (${setting}) does not answer: ${reason}`)])),
    Effect.map((findings): Checked => ({ part, at: new URL(address).origin, findings }))
  )

const ok = (status: number) => status === 200

/** Where Kratos, Hydra, flagd and other servers of HTTP are asked. */
const httpServers = Effect.gen(function* () {
  const idp = yield* idpAddress
  const oauth2 = yield* oauth2Address
  const { host, httpPort } = yield* FlagSettings
  const { functions } = yield* SupabaseSettings
  const keys = yield* url("SVC_JWKS_URL")
  const collector = yield* url("OTEL_EXPORTER_OTLP_ENDPOINT")
  const ready = (part: string, setting: string, base: string, headers = {}): Answering => ({
    part,
    setting,
    url: `${base}/health/ready`,
    headers,
    works: ok
  })
  const token = oauth2?.token === undefined ? {} : { authorization: `Bearer ${Redacted.value(oauth2.token)}` }
  const all: ReadonlyArray<Answering> = [
    ...(idp === undefined ? [] : [ready("Identity provider", "IDP_PUBLIC_URL", idp.publicUrl)]),
    ...(idp?.adminUrl === undefined ? [] : [ready("Identity provider", "IDP_ADMIN_URL", idp.adminUrl)]),
    ...(oauth2 === undefined ? [] : [ready("OAuth 2.0 server", "OAUTH2_ADMIN_URL", oauth2.adminUrl, token)]),
    ...(keys === undefined ? [] : [{ part: "Key set of JWTs", setting: "SVC_JWKS_URL", url: keys.href, works: ok }]),
    ...(host === undefined
      ? []
      : [{ part: "flagd", setting: "FLAGS_HOST", url: `http://${host}:${httpPort}/ofrep/v1/configuration` }]),
    ...(functions.url === undefined ? [] : [{ part: "Functions", setting: "SVC_FUNCTIONS_URL", url: functions.url }]),
    ...(collector === undefined
      ? []
      : [{ part: "Collector of traces", setting: "OTEL_EXPORTER_OTLP_ENDPOINT", url: collector.href }])
  ]
  return yield* Effect.forEach(all, answering, { concurrency: "unbounded" })
})

/** Whether the store accepts the credentials, and has the buckets that settings name. */
const bucketFindings = Effect.gen(function* () {
  const store = yield* ObjectStore
  const { bucket: backups } = yield* BackupSettings
  const { bucket: archive, enabled } = yield* RecoverySettings
  const names = new Set((yield* store.buckets).map(({ name }) => name))
  const wanted = { SVC_BACKUP_BUCKET: backups, SVC_PITR_BUCKET: enabled ? archive : undefined }
  return Object.entries(wanted).flatMap(([setting, name]) =>
    name === undefined || names.has(name)
      ? []
      : [faulty("Object store", `The bucket ${name} (${setting}) does not exist: create it`)]
  )
})

const objectStore = Effect.gen(function* () {
  const endpoint = yield* url("S3_ENDPOINT")
  if (endpoint === undefined) return []
  const findings = yield* bucketFindings.pipe(
    Effect.provide(layerObjectStore.pipe(Layer.provide(layerExternalS3))),
    Effect.catchIf(
      (failure) => "error" in failure,
      ({ error }) => Effect.succeed([faulty("Object store", `${endpoint.origin} (S3_ENDPOINT): ${error}`)])
    ),
    Effect.catchCause((cause) => Effect.succeed([faulty("Object store", reasonFor(cause))]))
  )
  return [{ part: "Object store", at: endpoint.origin, findings } satisfies Checked]
})

const mailServer = Effect.gen(function* () {
  const { smtpUrl } = yield* AccountSettings
  if (smtpUrl === undefined) return []
  const address = Redacted.value(smtpUrl)
  const findings = yield* Effect.tryPromise({
    try: async () => {
      const { createTransport } = await import("nodemailer")
      const limits = { connectionTimeout: answerMillis, greetingTimeout: answerMillis, socketTimeout: answerMillis }
      const transport = createTransport({ url: address, ...limits })
      await transport.verify().finally(() => transport.close())
      return []
    },
    catch: (cause) => faulty("Mail server", `${new URL(address).host} (SMTP_URL): ${reasonOf(cause)}`)
  }).pipe(Effect.catch((finding) => Effect.succeed([finding])))
  return [{ part: "Mail server", at: new URL(address).host, findings } satisfies Checked]
})

/** Connects to each server that settings name, except PostgreSQL. The settings must be valid. */
export const serverChecks: Effect.Effect<ReadonlyArray<Checked>, never, Scope.Scope> = Effect.all(
  [objectStore, httpServers, mailServer],
  { concurrency: "unbounded" }
).pipe(
  Effect.provide(
    Layer.mergeAll(
      AccountSettings.layer,
      BackupSettings.layer,
      FlagSettings.layer,
      RecoverySettings.layer,
      SupabaseSettings.layer,
      // What they log is in the findings.
      Logger.layer([])
    )
  ),
  Effect.map((all) => all.flat()),
  Effect.orDie
)
