import { Context, Effect, Layer, Schedule, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import {
  bucketNameOf,
  Environment,
  type EnvironmentChange,
  type EnvironmentId,
  type NewEnvironment,
  schemaNameOf,
  slugFault
} from "../../domain/environments/Environment.ts"
import { shownEnvironment, shownReplaced } from "../../domain/audit/Shown.ts"
import { Conflict, Forbidden, type InvalidRequest, NotFound, type Unavailable } from "../../domain/errors.ts"
import { environmentsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { withAdvisoryLocks } from "../AdvisoryLock.ts"
import { makeEnvironmentBuckets } from "./Buckets.ts"
import { environmentsBusy, invalidPayload, notFound, refusals, schemaExists } from "./Failures.ts"
import { EnvironmentSettings } from "./Settings.ts"
import { type StoreError } from "../ports/ObjectStore.ts"
import { audited, recordChange } from "../audit/Change.ts"
import { onOwnTables, queryRows, logFailure } from "../OwnTables.ts"

const time = (column: string) => `${isoSql(column)} as ${column}`

const columns = `id, project_id, name, slug, is_default, schema_name, bucket_name, config, ${time("created_at")},
  ${time("updated_at")}, ${time("deleted_at")}`

type Refusal = Conflict | Forbidden | InvalidRequest | NotFound | Unavailable

/** Environments of the project, each with a schema and a bucket (spec: Environment). */
export class Environments extends Context.Service<
  Environments,
  {
    /** Oldest first; with `deleted`, also those that were deleted. 404 for another project. */
    readonly list: (
      project: string,
      deleted: boolean
    ) => Effect.Effect<ReadonlyArray<Environment>, NotFound | Unavailable>
    /** 404 for a deleted environment, also below. */
    readonly find: (id: EnvironmentId) => Effect.Effect<Environment, NotFound | Unavailable>
    /** Creates schema, bucket and record, or nothing. Continues when the caller hangs up. */
    readonly create: (project: string, given: NewEnvironment) => Effect.Effect<Environment, StoreError>
    readonly update: (id: EnvironmentId, change: EnvironmentChange) => Effect.Effect<Environment, Refusal>
    /** Keeps the schema and the bucket. 409 when it is the default. */
    readonly remove: (id: EnvironmentId) => Effect.Effect<void, NotFound | Conflict | Unavailable>
  }
>()("svc/services/Environments") {
  static readonly layer = Layer.effect(
    Environments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const environments = queryRows(sql, Environment)
      const buckets = yield* makeEnvironmentBuckets
      const { limit, owner, project } = yield* EnvironmentSettings
      // Requests of this process wait here, requests of other replicas for the lock.
      const semaphore = yield* Semaphore.make(1)
      const locked = withAdvisoryLocks(sql, [environmentsLock], {
        patience: 10_000,
        pause: 100,
        busy: environmentsBusy
      })
      /** One change at a time over all replicas. It is not interrupted. 503 `ENVIRONMENTS_BUSY` after 10 s. */
      const alone = <A, E>(effect: Effect.Effect<A, E>) => semaphore.withPermit(Effect.uninterruptible(locked(effect)))
      const cleanUp = Effect.catchCause(
        buckets.sweep,
        logFailure("Failed to clean up after a failed environment creation; will retry")
      )

      const inProject = (id: string) =>
        id === project.id
          ? Effect.void
          : Effect.fail(new NotFound({ error: "No such project", code: "PROJECT_NOT_FOUND" }))

      const list = Effect.fn("Environments.list")(function* (id: string, deleted: boolean) {
        yield* inProject(id)
        return yield* onOwnTables(
          environments(
            `select ${columns} from svc.environments
             where project_id = $1 and ($2::bool or deleted_at is null) order by id`,
            [id, deleted]
          )
        )
      })

      const select = (id: EnvironmentId) =>
        environments(
          `select ${columns} from svc.environments where id = $1::int8 and project_id = $2 and deleted_at is null`,
          [id, project.id]
        )
      const find = Effect.fn("Environments.find")(function* (id: EnvironmentId) {
        const [found] = yield* onOwnTables(select(id))
        return found ?? (yield* notFound(id))
      })

      /** Refuses a slug or a schema that exists, and more environments than the limit. */
      const check = Effect.fnUntraced(function* (slug: string, schema: string) {
        const [state] = yield* queryRows(sql, State)(
          `select exists (select from svc.environments where project_id = $1 and slug = $2 and deleted_at is null) as slug,
                  exists (select from pg_namespace where nspname = $3::text) as schema,
                  (select count(*)::int4 from svc.environments where project_id = $1 and deleted_at is null) as count,
                  (select max(id) from svc.environments where schema_name = $3 and deleted_at is not null) as before`,
          [project.id, slug, schema]
        )
        const { before, count, slug: isSlugTaken, schema: isSchemaTaken } = state as typeof State.Type
        if (isSlugTaken) {
          const error = `The environment "${slug}" already exists`
          return yield* new Conflict({ error, code: "ENVIRONMENT_EXISTS" })
        }
        if (count >= limit) {
          return yield* new Forbidden({
            error: `A project may have ${limit} ${limit === 1 ? "environment" : "environments"}`,
            code: "ENVIRONMENT_LIMIT",
            hint: "Raise SVC_MAX_ENVIRONMENTS"
          })
        }
        if (isSchemaTaken) return yield* schemaExists(schema, before)
        return undefined
      })

      const make = Effect.fnUntraced(function* ({ config = {}, name, slug }: NewEnvironment) {
        const [schema, bucket] = [schemaNameOf(project, slug), bucketNameOf(project, slug)]
        yield* buckets.sweep
        yield* check(slug, schema)
        const token = yield* buckets.make(bucket)
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* buckets.keep(bucket, token)
            yield* sql.unsafe(`create schema ${quoteName(schema)} authorization ${quoteName(owner)}`)
            const [made] = yield* environments(
              `insert into svc.environments (project_id, name, slug, is_default, schema_name, bucket_name, config)
               values ($1, $2, $3, not exists (select from svc.environments where project_id = $1 and is_default),
                       $4, $5, $6::text::jsonb - $7::text[]) returning ${columns}`,
              [project.id, name, slug, schema, bucket, JSON.stringify(config), nullsOf(config)]
            )
            const { id } = made as Environment
            yield* recordChange(sql, { subject: subjectOf(id), after: shownEnvironment(made as Environment) })
            return made as Environment
          })
        )
      })

      const create = Effect.fn("Environments.create")(function* (id: string, given: NewEnvironment) {
        yield* inProject(id)
        const { slug } = given
        const fault = slugFault(project, slug)
        if (fault !== undefined) return yield* invalidPayload("slug", fault)
        const attempt = onOwnTables(make(given), {
          ...refusals,
          "42P06": () => schemaExists(schemaNameOf(project, slug), null)
        })
        return yield* alone(Effect.onError(attempt, () => cleanUp))
      })

      const put = Effect.fnUntraced(function* (id: EnvironmentId, change: EnvironmentChange) {
        const { config = {}, is_default, name = null, slug } = change
        const [now] = yield* select(id)
        if (now === undefined) return yield* notFound(id)
        if (slug !== undefined && slug !== now.slug) return yield* invalidPayload("slug", "The slug can't be changed")
        if (is_default === false && now.is_default) {
          return yield* invalidPayload("is_default", "Expected true: make another environment the default instead")
        }
        if (is_default === true && !now.is_default) {
          yield* sql.unsafe(
            "update svc.environments set is_default = false, updated_at = now() where project_id = $1 and is_default",
            [project.id]
          )
        }
        const [changed] = yield* environments(
          `update svc.environments
           set name = coalesce($2, name), is_default = is_default or $3::bool,
               config = (config || $4::text::jsonb) - $5::text[], updated_at = now()
           where id = $1::int8 and deleted_at is null returning ${columns}`,
          [id, name, is_default === true, JSON.stringify(config), nullsOf(config)]
        )
        if (changed === undefined) return yield* notFound(id)
        const after = { ...shownEnvironment(changed), ...shownReplaced(change, ["config"]) }
        yield* recordChange(sql, { subject: subjectOf(id), before: shownEnvironment(now), after })
        return changed
      })

      const update = Effect.fn("Environments.update")((id: EnvironmentId, change: EnvironmentChange) => {
        if (Object.keys(change).length === 0) return find(id)
        const changed = onOwnTables(sql.withTransaction(put(id, change)), refusals)
        // Only a change of the default affects other environments.
        return change.is_default === undefined ? changed : alone(changed)
      })

      const remove = Effect.fn("Environments.remove")(function* (id: EnvironmentId) {
        const gone = yield* onOwnTables(
          audited(
            sql,
            environments(
              `update svc.environments set deleted_at = now(), updated_at = now()
               where id = $1::int8 and project_id = $2 and deleted_at is null and not is_default returning ${columns}`,
              [id, project.id]
            ),
            ([before]) => before && { subject: subjectOf(id), before: shownEnvironment(before) }
          )
        )
        if (gone.length > 0) return
        yield* find(id)
        return yield* new Conflict({
          error: "The default environment can't be deleted",
          code: "ENVIRONMENT_IS_DEFAULT",
          hint: "Make another environment the default first"
        })
      })

      // Drafts of a process that was killed, or could not reach the store.
      yield* buckets.hasDrafts.pipe(
        Effect.flatMap((hasDrafts) => (hasDrafts ? alone(cleanUp) : Effect.void)),
        Effect.catchCause((cause) => Effect.logDebug("Failed to look for unfinished environments; will retry", cause)),
        Effect.repeat(Schedule.spaced("1 minute")),
        Effect.forkScoped
      )

      return Environments.of({ list, find, create, update, remove })
    })
  )
}

const subjectOf = (id: EnvironmentId) => `environment:${id}`

/** Conditions that may prevent a new environment. */
const State = Schema.Struct({
  slug: Schema.Boolean,
  schema: Schema.Boolean,
  count: Schema.Int,
  /** The deleted environment that had the schema. */
  before: Schema.NullOr(Schema.Int)
})

const nullsOf = (config: JsonObject) => Object.keys(config).filter((key) => config[key] === null)
