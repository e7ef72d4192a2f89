import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import {
  bucketNameOf,
  type Environment,
  type EnvironmentChange,
  type EnvironmentId,
  type NewEnvironment,
  schemaNameOf,
  slugFault
} from "../../domain/environments/Environment.ts"
import { Conflict, Forbidden, InvalidRequest, NotFound, type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { EnvironmentBuckets } from "./Buckets.ts"
import { EnvironmentSettings } from "./Settings.ts"
import { EnvironmentTurns, refusals } from "./Turns.ts"
import { type StoreError } from "../ports/ObjectStore.ts"
import { onOwnTables } from "../OwnTables.ts"

const time = (column: string) => `${isoSql(column)} as ${column}`

const columns = `id, project_id, name, slug, is_default, schema_name, bucket_name, config, ${time("created_at")},
  ${time("updated_at")}, ${time("deleted_at")}`

type Refusal = Conflict | Forbidden | InvalidRequest | NotFound | Unavailable

const invalid = (field: string, problem: string) =>
  new InvalidRequest({ error: "Invalid payload", details: [`${field}: ${problem}`] })

/** Schema and bucket of each environment of the project, and what is noted about them (spec: Environment). */
export class Environments extends Context.Service<
  Environments,
  {
    /** Oldest first; those that were deleted too, when asked for. NotFound for a project that is not ours. */
    readonly list: (
      project: string,
      deleted: boolean
    ) => Effect.Effect<ReadonlyArray<Environment>, NotFound | Unavailable>
    /** One that was deleted is not found, here and below. */
    readonly find: (id: EnvironmentId) => Effect.Effect<Environment, NotFound | Unavailable>
    /** With its schema and its bucket, or nothing at all. Goes on when the caller hangs up. */
    readonly create: (project: string, given: NewEnvironment) => Effect.Effect<Environment, StoreError>
    readonly update: (id: EnvironmentId, change: EnvironmentChange) => Effect.Effect<Environment, Refusal>
    /** Its schema and bucket stay. Conflict when it is the default. */
    readonly remove: (id: EnvironmentId) => Effect.Effect<void, NotFound | Conflict | Unavailable>
  }
>()("svc/services/Environments") {
  static readonly layer = Layer.effect(
    Environments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const buckets = yield* EnvironmentBuckets
      const { alone } = yield* EnvironmentTurns
      const { limit, owner, project } = yield* EnvironmentSettings
      /** For whoever has the turn. What can't be taken away now stays noted for the next time. */
      const clear = Effect.catchCause(buckets.sweep, (cause) =>
        Effect.logWarning("What a failed attempt at an environment left can't be taken away yet", cause)
      )

      const inProject = (id: string) =>
        id === project.id
          ? Effect.void
          : Effect.fail(new NotFound({ error: "There is no such project", code: "PROJECT_NOT_FOUND" }))

      const list = Effect.fn("Environments.list")(function* (id: string, deleted: boolean) {
        yield* inProject(id)
        return yield* onOwnTables(
          sql.unsafe<Environment>(
            `select ${columns} from svc.environments
             where project_id = $1 and ($2::bool or deleted_at is null) order by id`,
            [id, deleted]
          )
        )
      })

      const select = (id: EnvironmentId) =>
        sql.unsafe<Environment>(
          `select ${columns} from svc.environments where id = $1::int8 and project_id = $2 and deleted_at is null`,
          [id, project.id]
        )
      const find = Effect.fn("Environments.find")(function* (id: EnvironmentId) {
        const [found] = yield* onOwnTables(select(id))
        return found ?? (yield* notThere(id))
      })

      /** Whether there is room, and a schema of that name is still to be made. */
      const check = Effect.fnUntraced(function* (slug: string, schema: string) {
        const [state] = yield* sql.unsafe<State>(
          `select exists (select from svc.environments where project_id = $1 and slug = $2 and deleted_at is null) as slug,
                  exists (select from pg_namespace where nspname = $3::text) as schema,
                  (select count(*)::int4 from svc.environments where project_id = $1 and deleted_at is null) as count,
                  (select max(id) from svc.environments where schema_name = $3 and deleted_at is not null) as before`,
          [project.id, slug, schema]
        )
        const { before, count, slug: isSlugTaken, schema: isSchemaTaken } = state as State
        if (isSlugTaken) {
          const error = `There is an environment "${slug}" already`
          return yield* new Conflict({ error, code: "ENVIRONMENT_EXISTS" })
        }
        if (count >= limit) {
          return yield* new Forbidden({
            error: `A project may have ${limit} ${limit === 1 ? "environment" : "environments"}`,
            code: "ENVIRONMENT_LIMIT",
            hint: "SVC_MAX_ENVIRONMENTS says how many"
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
            const [made] = yield* sql.unsafe<Environment>(
              `insert into svc.environments (project_id, name, slug, is_default, schema_name, bucket_name, config)
               values ($1, $2, $3, not exists (select from svc.environments where project_id = $1 and is_default),
                       $4, $5, $6::text::jsonb - $7::text[]) returning ${columns}`,
              [project.id, name, slug, schema, bucket, JSON.stringify(config), nullsOf(config)]
            )
            return made as Environment
          })
        )
      })

      const create = Effect.fn("Environments.create")(function* (id: string, given: NewEnvironment) {
        yield* inProject(id)
        const { slug } = given
        const fault = slugFault(project, slug)
        if (fault !== undefined) return yield* invalid("slug", fault)
        const attempt = onOwnTables(make(given), {
          ...refusals,
          "42P06": () => schemaExists(schemaNameOf(project, slug), null)
        })
        return yield* alone(Effect.onError(attempt, () => clear))
      })

      const put = Effect.fnUntraced(function* (id: EnvironmentId, change: EnvironmentChange) {
        const { config = {}, is_default, name = null, slug } = change
        const [now] = yield* select(id)
        if (now === undefined) return yield* notThere(id)
        if (slug !== undefined && slug !== now.slug)
          return yield* invalid("slug", "Expected what it is: it never changes")
        if (is_default === false && now.is_default) {
          return yield* invalid("is_default", "Expected true: make another environment the default instead")
        }
        if (is_default === true && !now.is_default) {
          yield* sql.unsafe(
            "update svc.environments set is_default = false, updated_at = now() where project_id = $1 and is_default",
            [project.id]
          )
        }
        const [changed] = yield* sql.unsafe<Environment>(
          `update svc.environments
           set name = coalesce($2, name), is_default = is_default or $3::bool,
               config = (config || $4::text::jsonb) - $5::text[], updated_at = now()
           where id = $1::int8 and deleted_at is null returning ${columns}`,
          [id, name, is_default === true, JSON.stringify(config), nullsOf(config)]
        )
        return changed ?? (yield* notThere(id))
      })

      const update = Effect.fn("Environments.update")((id: EnvironmentId, change: EnvironmentChange) => {
        if (Object.keys(change).length === 0) return find(id)
        const changed = onOwnTables(sql.withTransaction(put(id, change)), refusals)
        // Only which one is the default concerns the others.
        return change.is_default === undefined ? changed : alone(changed)
      })

      const remove = Effect.fn("Environments.remove")(function* (id: EnvironmentId) {
        const gone = yield* onOwnTables(
          sql.unsafe(
            `update svc.environments set deleted_at = now(), updated_at = now()
             where id = $1::int8 and project_id = $2 and deleted_at is null and not is_default returning id`,
            [id, project.id]
          )
        )
        if (gone.length > 0) return
        yield* find(id)
        return yield* new Conflict({
          error: "The default environment can't be deleted",
          code: "ENVIRONMENT_IS_DEFAULT",
          hint: "Make another one the default first"
        })
      })

      // What a process left that was killed, or could not ask the store.
      yield* buckets.drafted.pipe(
        Effect.flatMap((drafted) => (drafted ? alone(clear) : Effect.void)),
        Effect.catchCause((cause) => Effect.logDebug("Failed attempts at environments are looked for later", cause)),
        Effect.repeat(Schedule.spaced("1 minute")),
        Effect.forkScoped
      )

      return Environments.of({ list, find, create, update, remove })
    })
  )
}

/** What stands in the way of a new environment. */
interface State {
  readonly slug: boolean
  readonly schema: boolean
  readonly count: number
  /** The deleted environment that had the schema. */
  readonly before: number | null
}

const notThere = (id: EnvironmentId) => new NotFound({ error: `No environment ${id}`, code: "ENVIRONMENT_NOT_FOUND" })

const nullsOf = (config: JsonObject) => Object.keys(config).filter((key) => config[key] === null)

const schemaExists = (schema: string, before: number | null) =>
  new Conflict({
    error:
      before === null
        ? `There is a schema "${schema}" already`
        : `The schema "${schema}" is kept from environment ${before}, which was deleted`,
    code: "SCHEMA_EXISTS",
    hint:
      before === null ? "Choose another slug" : "Choose another slug, or drop the schema and delete the bucket first"
  })
