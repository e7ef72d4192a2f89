import { Context, Effect, Layer, Schema } from "effect"
import { Conflict, Forbidden, NotFound, Unavailable } from "../../domain/errors.ts"
import {
  ForeignDataListing,
  ForeignServer,
  type NewForeignServer,
  type NewUserMapping,
  type UserMapping,
  localUserOf
} from "../../domain/foreign/ForeignData.ts"
import {
  createMappingSql,
  createServerSql,
  dropMappingSql,
  dropServerSql,
  hiddenSetting,
  listingSql,
  mappedSql,
  mappingsSql,
  postgresFdw,
  quietSql,
  runHiddenSql,
  serverSql,
  shownOption,
  usersSql
} from "../../domain/foreign/ForeignDataSql.ts"
import { foreignDataLock } from "../../domain/sql/AdvisoryLocks.ts"
import { listed } from "../../domain/text/Shorten.ts"
import { type SqlSession } from "../ports/Db.ts"
import { type ForeignFailure, asForeignFailure, foreignFailure, isTaken, serverNotFound, without } from "./Failures.ts"
import { type ForeignSessions, finds, makeForeignSessions, namesOf, serverExists, valueOf } from "./Sessions.ts"

const requireServer = Effect.fnUntraced(function* (session: SqlSession, name: string) {
  if (!(yield* finds(session, serverExists, [name]))) return yield* serverNotFound(name)
})

/** Drops foreign servers and user mappings. */
const makeForeignRemoval = (sessions: ForeignSessions) => {
  const removeServer = Effect.fn("ForeignData.removeServer")((name: string, cascade: boolean) =>
    sessions
      .change(
        Effect.fnUntraced(function* (session) {
          yield* requireServer(session, name)
          const tables = yield* namesOf(session, usersSql, [name])
          if (tables.length > 0 && !cascade) return yield* serverInUse(name, tables)
          for (const role of yield* namesOf(session, mappingsSql, [name])) {
            yield* session.query(dropMappingSql(name, localUserOf(role)), [], 1)
          }
          yield* session.query(dropServerSql(name, cascade), [], 1)
        })
      )
      .pipe(asForeignFailure(({ code }) => (code === "2BP01" ? serverInUse(name, []) : undefined)))
  )

  const removeMapping = Effect.fn("ForeignData.removeMapping")((server: string, user: string) =>
    sessions
      .change(
        Effect.fnUntraced(function* (session) {
          yield* requireServer(session, server)
          const local = localUserOf(user)
          const role = typeof local === "string" ? local : local.role
          if (!(yield* finds(session, mappedSql, [server, role]))) return yield* noMapping(server, user)
          yield* session.query(dropMappingSql(server, local), [], 1)
        })
      )
      .pipe(asForeignFailure(() => undefined))
  )

  return { removeServer, removeMapping }
}

const serverInUse = (name: string, tables: ReadonlyArray<string>) =>
  new Conflict({
    error: `Foreign server ${name} has foreign tables${tables.length === 0 ? "" : `: ${listed(tables)}`}`,
    code: "FOREIGN_SERVER_IN_USE",
    hint: "With cascade=true they are dropped too, and everything that depends on them"
  })

const noMapping = (server: string, user: string) =>
  new NotFound({
    error: `Foreign server ${server} has no user mapping for ${user}`,
    code: "USER_MAPPING_NOT_FOUND"
  })

const decodeListing = Schema.decodeUnknownEffect(Schema.fromJsonString(ForeignDataListing))
const decodeServers = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(ForeignServer)))

const shown = (server: ForeignServer): ForeignServer => ({
  ...server,
  server_options: server.server_options.map(shownOption)
})

const wrapperExists = "select from pg_catalog.pg_foreign_data_wrapper where fdwname = $1::text"
const roleExists = "select from pg_catalog.pg_roles where rolname = $1::text"
const extensionAvailable = "select from pg_catalog.pg_available_extensions where name = $1::text"

/** Foreign servers and user mappings (spec: Foreign data wrappers). */
export class ForeignData extends Context.Service<
  ForeignData,
  {
    readonly list: Effect.Effect<ForeignDataListing, ForeignFailure>
    /** Does not connect to it. */
    readonly createServer: (given: NewForeignServer) => Effect.Effect<ForeignServer, ForeignFailure>
    /** The password appears in no response, log line or statement text. */
    readonly createMapping: (given: NewUserMapping) => Effect.Effect<UserMapping, ForeignFailure>
    /**
     * Removes a server with its mappings. 409 `FOREIGN_SERVER_IN_USE` if it has foreign tables, unless `cascade` drops
     * them too.
     */
    readonly removeServer: (name: string, cascade: boolean) => Effect.Effect<void, ForeignFailure>
    /** `user`: as `local_user` of a new mapping. */
    readonly removeMapping: (server: string, user: string) => Effect.Effect<void, ForeignFailure>
  }
>()("svc/services/ForeignData") {
  static readonly layer = Layer.effect(
    ForeignData,
    Effect.gen(function* () {
      const sessions = yield* makeForeignSessions

      const list = Effect.gen(function* () {
        const { foreignTables, wrappers } = yield* Effect.orDie(decodeListing(yield* sessions.read(listingSql)))
        return { wrappers: wrappers.map(shown), foreignTables }
      }).pipe(asForeignFailure(() => undefined))

      const createServer = Effect.fn("ForeignData.createServer")((given: NewForeignServer) =>
        sessions
          .change(
            Effect.fnUntraced(function* (session) {
              yield* requireWrapper(session, given.fdw_name ?? postgresFdw)
              if (yield* finds(session, serverExists, [given.name])) return yield* serverTaken(given.name)
              yield* session.query(createServerSql(given), [], 1)
              const [server] = yield* Effect.orDie(
                decodeServers((yield* valueOf(session, serverSql, [given.name])) ?? "[]")
              )
              return shown(server as ForeignServer)
            })
          )
          .pipe(asForeignFailure((error) => (isTaken(error) ? serverTaken(given.name) : undefined)))
      )

      const createMapping = Effect.fn("ForeignData.createMapping")((given: NewUserMapping) =>
        sessions
          .change(
            Effect.fnUntraced(function* (session) {
              if (!(yield* finds(session, serverExists, [given.server]))) return yield* serverNotFound(given.server)
              const local = localUserOf(given.local_user)
              if (typeof local !== "string" && !(yield* finds(session, roleExists, [local.role]))) {
                return yield* new NotFound({ error: `Role ${local.role} does not exist`, code: "ROLE_NOT_FOUND" })
              }
              yield* session.query(quietSql, [], 1)
              const hide = `select pg_catalog.set_config('${hiddenSetting}', $1, true) is null`
              yield* session.query(hide, [createMappingSql(given)], 1)
              yield* session.query(runHiddenSql, [], 1)
              const local_user =
                local === "public"
                  ? "PUBLIC"
                  : local === "current_user"
                    ? ((yield* valueOf(session, "select current_user::text", [])) ?? "")
                    : local.role
              return { server: given.server, local_user, remote_user: given.remote_user }
            })
          )
          .pipe(
            asForeignFailure((error) =>
              isTaken(error) ? mappingTaken(given) : foreignFailure(without(error, given.remote_password))
            )
          )
      )

      return ForeignData.of({ list, createServer, createMapping, ...makeForeignRemoval(sessions) })
    })
  )
}

const serverTaken = (name: string) =>
  new Conflict({ error: `Foreign server ${name} already exists`, code: "FOREIGN_SERVER_EXISTS" })

const mappingTaken = ({ local_user, server }: NewUserMapping) =>
  new Conflict({
    error: `Foreign server ${server} already has a user mapping for ${local_user}`,
    code: "USER_MAPPING_EXISTS",
    hint: "To change it, drop it first: DELETE /api/fdw/server/{server}/user-mapping/{local_user}"
  })

/** Creates the extension postgres_fdw if it is missing, in a schema that the row API does not expose. */
const requireWrapper = Effect.fnUntraced(function* (session: SqlSession, name: string) {
  if (yield* finds(session, wrapperExists, [name])) return
  if (name !== postgresFdw) {
    return yield* new NotFound({
      error: `Foreign data wrapper ${name} does not exist`,
      code: "FOREIGN_WRAPPER_NOT_FOUND",
      hint: "Create its extension first"
    })
  }
  yield* session.query(`select pg_catalog.pg_advisory_xact_lock(${foreignDataLock})`, [], 1)
  if (yield* finds(session, wrapperExists, [name])) return
  if (!(yield* finds(session, extensionAvailable, [name]))) {
    return yield* new Unavailable({
      error: "The extension postgres_fdw is not installed on this PostgreSQL server",
      code: "NOT_CONFIGURED",
      hint: "Install the contrib modules of PostgreSQL"
    })
  }
  yield* Effect.gen(function* () {
    yield* session.query("create schema if not exists extensions", [], 1)
    yield* session.query("create extension postgres_fdw schema extensions", [], 1)
  }).pipe(
    Effect.catchIf(
      (error) => error._tag === "DatabaseError" && error.code === "42501",
      () =>
        Effect.fail(
          new Forbidden({
            error: "The role of service keys may not create the extension postgres_fdw",
            code: "FOREIGN_NOT_ALLOWED",
            hint: "As an administrator: create extension postgres_fdw; grant usage on foreign data wrapper postgres_fdw to that role"
          })
        )
    )
  )
})
