import { Effect, Schedule } from "effect"
import { branchFillLock } from "../../domain/sql/AdvisoryLocks.ts"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { DumpFailed } from "../../services/ports/DumpTools.ts"
import { type Login } from "../postgres/Login.ts"
import { connectDirectly, type DirectConnection } from "../postgres/client/DirectConnection.ts"

const providers: Readonly<Record<string, string>> = { b: "builtin", c: "libc", i: "icu" }

/** `row` is a row of pg_database; its locale columns depend on the server's version. */
interface Source {
  readonly encoding: string
  readonly tablespace: string | null
  readonly row: Readonly<Record<string, unknown>>
}

/** Options of CREATE DATABASE for the encoding and collation of the source. */
const likeSource = ({ encoding, row, tablespace }: Source) => {
  const provider = providers[String(row["datlocprovider"])] ?? "libc"
  // The names until PostgreSQL 16, and from 17 on.
  const locale = row["daticulocale"] ?? row["datlocale"]
  return [
    `encoding ${quoteLiteral(encoding)}`,
    `locale_provider ${provider}`,
    `lc_collate ${quoteLiteral(String(row["datcollate"]))}`,
    `lc_ctype ${quoteLiteral(String(row["datctype"]))}`,
    ...(provider === "libc" ? [] : [`${provider}_locale ${quoteLiteral(String(locale))}`]),
    ...(typeof row["daticurules"] === "string" ? [`icu_rules ${quoteLiteral(row["daticurules"])}`] : []),
    ...(tablespace === null ? [] : [`tablespace ${quoteName(tablespace)}`])
  ].join(" ")
}

/** Creates an empty database like the one that `main` is connected to. Only its owner, the service's login, may connect. */
export const createEmpty = Effect.fnUntraced(function* (main: DirectConnection, database: string) {
  const [source] = yield* main.query(
    `select pg_encoding_to_char(d.encoding) as encoding, to_jsonb(d) as row,
            case when has_tablespace_privilege(d.dattablespace, 'create') then t.spcname end as tablespace
     from pg_database d join pg_tablespace t on t.oid = d.dattablespace where d.datname = current_database()`
  )
  const name = quoteName(database)
  const options = likeSource(source as unknown as Source)
  // PUBLIC may connect to a new database: no connections are allowed until that right is revoked.
  yield* main.query(`create database ${name} template template0 ${options} allow_connections false`)
  yield* main.query(`revoke all on database ${name} from public`)
  yield* main.query(`alter database ${name} with allow_connections true`)
})

const lost = new DumpFailed({ reason: "The connection that locked the branch while it was being filled was lost" })

/**
 * Holds the lock of a branch that is being filled, until the scope closes. The lock is in the branch's database, so that
 * no session in the main one is needed, and dropping the branch ends it. The effect it returns fails when it is lost.
 */
export const lockBranch = (address: Login, database: string) =>
  Effect.map(
    Effect.tap(connectDirectly({ ...address, database }), (connection) =>
      connection.query(`select pg_advisory_lock(${branchFillLock})`)
    ),
    (connection) =>
      connection.query("select 1").pipe(
        Effect.timeoutOrElse({ duration: "30 seconds", orElse: () => Effect.fail(lost) }),
        Effect.repeat(Schedule.spaced("1 second")),
        Effect.andThen(Effect.never),
        Effect.mapError(() => lost)
      )
  )
