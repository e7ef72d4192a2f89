import { Effect } from "effect"
import { Conflict, NotFound } from "../../domain/errors.ts"
import { localUserOf } from "../../domain/foreign/ForeignData.ts"
import { dropMappingSql, dropServerSql, mappedSql, mappingsSql, usersSql } from "../../domain/foreign/ForeignDataSql.ts"
import { listed } from "../../domain/text/Shorten.ts"
import { type SqlSession } from "../ports/Db.ts"
import { asForeignFailure, serverNotFound } from "./Failures.ts"
import { finds, type ForeignSessions, namesOf, serverExists } from "./Sessions.ts"

const requireServer = Effect.fnUntraced(function* (session: SqlSession, name: string) {
  if (!(yield* finds(session, serverExists, [name]))) return yield* serverNotFound(name)
})

/** Drops foreign servers and user mappings. */
export const makeForeignRemoval = (sessions: ForeignSessions) => {
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
