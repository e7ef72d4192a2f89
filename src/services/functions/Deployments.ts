import { Context, Effect, Layer, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { createHash } from "node:crypto"
import {
  type GatewayTimeout,
  InvalidRequest,
  NotFound,
  type NotImplemented,
  Unavailable,
  type Unprocessable
} from "../../domain/errors.ts"
import {
  sourceBytes,
  type Deployment,
  FunctionRecord,
  FunctionVersion,
  maxSourceBytes,
  type SourceFiles
} from "../../domain/functions/Function.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { audited } from "../audit/Change.ts"
import { onOwnTables } from "../OwnTables.ts"
import { FunctionEngine } from "../ports/functions/FunctionEngine.ts"
import { ObjectStore } from "../ports/ObjectStore.ts"

/** Where bundles are stored, by their digests. */
const bucket = "svc-functions"

const columns = `f.name, f.version, v.entrypoint, v.verify_jwt, v.digest, v.size, v.created_by,
  ${isoSql("f.created_at")} as created_at, ${isoSql("f.updated_at")} as updated_at`
const from = "from svc.functions f join svc.function_versions v on v.name = f.name and v.version = f.version"
const versionColumns = `version, entrypoint, verify_jwt, digest, size, created_by, ${isoSql("created_at")} as created_at`

const notFound = (name: string) =>
  new NotFound({ error: `Function ${name} does not exist`, code: "FUNCTION_NOT_FOUND" })
const versionNotFound = (name: string, version: number) =>
  new NotFound({ error: `Function ${name} has no version ${version}`, code: "FUNCTION_VERSION_NOT_FOUND" })

/** Makes all replicas load the function again. */
const notify = "select pg_notify('svc_functions', $1)"

type StoreFailure = Unavailable

const unstored = new Unavailable({ error: "The object store does not have or take the function: try again" })

/** Functions that the API deploys: versions, of which one is called. */
export class FunctionDeployments extends Context.Service<
  FunctionDeployments,
  {
    /** By name. */
    readonly list: Effect.Effect<ReadonlyArray<FunctionRecord>, Unavailable>
    readonly find: (name: string) => Effect.Effect<FunctionRecord, NotFound | Unavailable>
    /** Builds a version, stores it, and has it called from then on. */
    readonly deploy: (
      name: string,
      given: Deployment,
      by: string
    ) => Effect.Effect<FunctionRecord, InvalidRequest | Unprocessable | NotImplemented | GatewayTimeout | Unavailable>
    /** Newest first. */
    readonly versions: (name: string) => Effect.Effect<ReadonlyArray<FunctionVersion>, NotFound | Unavailable>
    /** Has another version called. */
    readonly select: (name: string, version: number) => Effect.Effect<FunctionRecord, NotFound | Unavailable>
    readonly files: (
      name: string,
      version: number
    ) => Effect.Effect<SourceFiles, NotFound | NotImplemented | Unavailable>
    /** Deletes the function with its versions. */
    readonly remove: (name: string) => Effect.Effect<void, NotFound | Unavailable>
    readonly bundle: (digest: string) => Effect.Effect<Uint8Array, StoreFailure>
    /** Grows with every change by this process, which calls that follow see before PostgreSQL notifies it. */
    readonly changes: () => number
  }
>()("svc/services/FunctionDeployments") {
  static readonly layer = Layer.effect(
    FunctionDeployments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let changes = 0
      const counted = Effect.ensuring(Effect.sync(() => void changes++))
      const store = yield* ObjectStore
      const engine = yield* FunctionEngine

      const rows = (text: string, params: ReadonlyArray<unknown> = []) =>
        SqlSchema.findAll({ Request: Schema.Void, Result: FunctionRecord, execute: () => sql.unsafe(text, params) })()
      const one = (name: string) => rows(`select ${columns} ${from} where f.name = $1`, [name])

      const list = onOwnTables(rows(`select ${columns} ${from} order by f.name`))
      const find = Effect.fn("FunctionDeployments.find")(function* (name: string) {
        const [found] = yield* onOwnTables(one(name))
        return found ?? (yield* notFound(name))
      })

      const put = (digest: string, bytes: Uint8Array) => {
        const sent = store.put(bucket, digest, "application/gzip", bytes)
        return sent.pipe(
          Effect.catchTag("NotFound", () =>
            store.createBucket(bucket).pipe(
              Effect.catchTag("Conflict", () => Effect.void),
              Effect.andThen(sent)
            )
          ),
          Effect.mapError(() => unstored)
        )
      }

      const bundle = Effect.fn("FunctionDeployments.bundle")(function* (digest: string) {
        const chunks = yield* Effect.mapError(Stream.runCollect(store.read(bucket, digest)), () => unstored)
        const bytes = Buffer.concat(Array.from(chunks))
        // The right to write to the bucket is no right to choose what runs.
        if (createHash("sha256").update(bytes).digest("hex") !== digest) {
          yield* Effect.logError(`The object ${bucket}/${digest} is not what was deployed: deploy the function again`)
          return yield* unstored
        }
        return bytes as Uint8Array
      })

      const deploy = Effect.fn("FunctionDeployments.deploy")(function* (name: string, given: Deployment, by: string) {
        const { entrypoint = given.files[`${name}/index.ts`] === undefined ? "index.ts" : `${name}/index.ts`, files } =
          given
        const size = Object.values(files).reduce((sum, file) => sum + sourceBytes(file).length, 0)
        if (size > maxSourceBytes) return yield* new InvalidRequest({ error: "The files exceed 10 MiB" })
        if (files[entrypoint] === undefined) {
          return yield* new InvalidRequest({ error: `The files do not contain the entrypoint ${entrypoint}` })
        }
        const built = yield* engine.build(files, entrypoint)
        const digest = createHash("sha256").update(built).digest("hex")
        yield* put(digest, built)
        const written = Effect.gen(function* () {
          yield* sql.unsafe("select pg_advisory_xact_lock(hashtext('svc.functions'), hashtext($1))", [name])
          yield* sql.unsafe(
            `with next as (select coalesce(max(version), 0) + 1 as version from svc.function_versions where name = $1),
               added as (insert into svc.function_versions (name, version, digest, size, entrypoint, verify_jwt, created_by)
                 select $1, next.version, $2, $3::int4, $4, $5::bool, $6 from next returning version)
             insert into svc.functions (name, version) select $1, version from added
             on conflict (name) do update set version = excluded.version, updated_at = now()`,
            [name, digest, built.length, entrypoint, given.verify_jwt ?? null, by]
          )
          yield* sql.unsafe(notify, [name])
          return yield* one(name)
        })
        const [deployed] = yield* onOwnTables(
          audited(sql, written, ([now]) => now && { subject: `function:${name}`, after: shown(now) })
        ).pipe(counted)
        return deployed as FunctionRecord
      })

      const versions = Effect.fn("FunctionDeployments.versions")(function* (name: string) {
        const found = yield* onOwnTables(
          SqlSchema.findAll({
            Request: Schema.Void,
            Result: FunctionVersion,
            execute: () =>
              sql.unsafe(`select ${versionColumns} from svc.function_versions where name = $1 order by version desc`, [
                name
              ])
          })()
        )
        return found.length === 0 ? yield* notFound(name) : found
      })

      const select = Effect.fn("FunctionDeployments.select")(function* (name: string, version: number) {
        const before = yield* find(name)
        const written = Effect.gen(function* () {
          const changed = yield* sql.unsafe(
            `update svc.functions f set version = $2::int4, updated_at = now()
             where name = $1 and exists (select from svc.function_versions v where v.name = f.name and v.version = $2::int4)
             returning name`,
            [name, version]
          )
          if (changed.length === 0) return []
          yield* sql.unsafe(notify, [name])
          return yield* one(name)
        })
        const [now] = yield* onOwnTables(
          audited(
            sql,
            written,
            ([now]) => now && { subject: `function:${name}`, before: shown(before), after: shown(now) }
          )
        ).pipe(counted)
        return now ?? (yield* versionNotFound(name, version))
      })

      const files = Effect.fn("FunctionDeployments.files")(function* (name: string, version: number) {
        const found = (yield* versions(name)).find((one) => one.version === version)
        if (found === undefined) return yield* versionNotFound(name, version)
        return yield* engine.files(yield* bundle(found.digest))
      })

      const remove = Effect.fn("FunctionDeployments.remove")(function* (name: string) {
        const before = yield* find(name)
        const removed = Effect.gen(function* () {
          yield* sql.unsafe("delete from svc.functions where name = $1", [name])
          const gone = yield* sql.unsafe<{ digest: string }>(
            "delete from svc.function_versions where name = $1 returning digest",
            [name]
          )
          const kept = yield* sql.unsafe<{ digest: string }>("select digest from svc.function_versions")
          yield* sql.unsafe(notify, [name])
          return gone.map(({ digest }) => digest).filter((digest) => kept.every((one) => one.digest !== digest))
        })
        const digests = yield* onOwnTables(
          audited(sql, removed, () => ({ subject: `function:${name}`, before: shown(before) }))
        ).pipe(counted)
        yield* Effect.ignore(Effect.forEach(digests, (digest) => store.remove(bucket, digest)))
      })

      return FunctionDeployments.of({
        list,
        find,
        deploy,
        versions,
        select,
        files,
        remove,
        bundle,
        changes: () => changes
      })
    })
  )
}

const shown = ({ digest, entrypoint, verify_jwt, version }: FunctionRecord) => ({
  version,
  digest,
  entrypoint,
  verify_jwt
})
