import { Effect, Option, Redacted } from "effect"
import { text } from "../../domain/Settings.ts"
import { grantsSql } from "../../domain/catalogue/GrantsSql.ts"
import { scramVerifier } from "../../domain/sql/ScramVerifier.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { changeSource } from "../../services/changes/Settings.ts"
import { recoveryEnabled } from "../../services/recovery/Settings.ts"
import { printResult } from "../process/Output.ts"
import { layerExternal, PostgresAddress } from "../postgres/Address.ts"
import { databaseUri } from "../postgres/Installation.ts"

interface Wanted {
  readonly login: Option.Option<string>
  readonly database: Option.Option<string>
  readonly replication: Option.Option<boolean>
  readonly pooler: Option.Option<boolean>
}

/** The login of DATABASE_URL; undefined if that is not set. */
const givenLogin = Effect.flatMap(databaseUri, (uri) =>
  uri === undefined ? Effect.undefined : Effect.provide(PostgresAddress, layerExternal(uri))
)

/** `svc grants`: connects to nothing. */
export const printGrants = Effect.fnUntraced(function* (wanted: Wanted) {
  const given = yield* givenLogin
  const login = Option.getOrElse(wanted.login, () => given?.user ?? "app")
  const password = login === given?.user ? Redacted.value(given.password) : ""
  const reads = (yield* changeSource) === "wal" || (yield* recoveryEnabled)
  const { schemas } = yield* ExposedSchemas
  const sql = grantsSql({
    login,
    verifier: password === "" ? undefined : scramVerifier(password),
    database: Option.getOrElse(wanted.database, () => given?.database ?? "app"),
    serviceRole: yield* text("SVC_SERVICE_ROLE", login),
    schemas,
    replication: Option.getOrElse(wanted.replication, () => reads),
    pooler: Option.getOrElse(wanted.pooler, () => given?.pooler !== undefined)
  })
  yield* printResult(sql.trimEnd(), { sql })
}, Effect.provide(ExposedSchemas.layer))
