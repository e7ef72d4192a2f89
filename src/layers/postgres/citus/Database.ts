import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseError, Unavailable } from "../../../domain/errors.ts"
import { type Actor, type Database, type SqlSession } from "../../../services/ports/Db.ts"
import { inUsersNames } from "./Errors.ts"
import { setLocalClaims } from "./SetLocal.ts"

const isOfDatabase = (error: unknown) => error instanceof DatabaseError || error instanceof Unavailable

/** What the service sends to begin a transaction in a session. */
const begins = /^begin\b/

/** A Citus cluster: errors name tables instead of shards, and the claims of transactions apply on its workers. */
export const distributed = (database: Database) =>
  Effect.map(SqlClient.SqlClient, (sql): Database => {
    const explained = inUsersNames(sql)

    const inCluster = (actor: Actor, { csv, load, query, script }: SqlSession): SqlSession => ({
      query: (text, ...rest) => {
        const result = Effect.catch(query(text, ...rest), explained)
        if (actor.claims === "" || !begins.test(text)) return result
        return Effect.tap(result, () => Effect.forEach(setLocalClaims(actor), (claims) => query(claims, [], 1)))
      },
      script: (text) => Effect.catch(script(text), explained),
      csv: (text, params) => Stream.catch(csv(text, params), (error) => Stream.fromEffect(explained(error))),
      load: (text, bytes) => Effect.catchIf(load(text, bytes), isOfDatabase, (error) => explained(error as never))
    })

    return {
      ...database,
      run: (actor, statement) => Effect.catch(database.run(actor, statement), explained),
      session: (actor) =>
        Effect.map(database.session(actor), (session) => ({ ...session, ...inCluster(actor, session) }))
    }
  })
