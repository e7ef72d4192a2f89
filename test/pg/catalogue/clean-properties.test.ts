import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ddlEpochSql } from "../../../src/domain/catalogue/DdlSql.ts"
import { type ClientError, Unavailable } from "../../../src/domain/errors.ts"
import { type Functions } from "../../../src/services/rows/Functions.ts"
import { type Rows } from "../../../src/services/rows/Rows.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db, type Statement } from "../../../src/services/ports/Db.ts"
import { type Linked, linked, linkedQueries, linkedTable } from "../../support/catalogue/linked.ts"
import { spiesSql } from "../../support/catalogue/spies.ts"
import { catalogue } from "../../support/catalogue/current.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { effort, holds } from "../../support/properties.ts"
import { anon, raw, refusal } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({ name: "clean_properties", settings: { SVC_DB_AGGREGATES: "true" }, before: spiesSql }),
  live
)

/** Makes a new schema `public` of these parts. Returns the names of those that PostgreSQL does not accept. */
const makeAll = (parts: ReadonlyArray<readonly [name: string, text: string]>) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    const catalogues = yield* Catalogues
    const { main } = yield* Db
    const each = parts.map(
      ([name, text]) => `do $each$ begin execute $part$${text}$part$;
        exception when others then insert into refused values ('${name}'); end $each$;`
    )
    yield* sql(`drop schema public cascade; create schema public; grant usage on schema public to anon;
      create table refused (name text); ${each.join("\n")}
      grant all on all tables in schema public to anon; grant all on all functions in schema public to anon;`)
    // Until the service knows of this change, it plans with an earlier catalogue, and runs again what that got wrong.
    const [{ epoch } = {}] = yield* sql(`select ${ddlEpochSql} as epoch`)
    while ((catalogues.epoch(main, yield* catalogue) ?? 0) < Number(epoch)) yield* Effect.sleep("1 millis")
    const refused = yield* sql("select name from refused")
    return new Set(refused.map(({ name }) => String(name)))
  })

/** How often user code has run; also counts statements that were rolled back. */
const runs = Effect.gen(function* () {
  const { sql } = yield* Outside
  return Number((yield* sql("select case when is_called then last_value else 0 end as runs from spy.ran"))[0]?.["runs"])
})

/** Returns of a request which SQL ran as anon, whether all of it counted as clean, and whether user code ran. */
const ask = (request: Effect.Effect<unknown, ClientError, Db | Rows | Functions>, onlyClean = false) =>
  Effect.gen(function* () {
    const db = yield* Db
    const statements: Array<Statement> = []
    const isClean = ({ clean, epoch }: Statement) => clean === true && epoch !== undefined
    const main: typeof db.main = {
      ...db.main,
      run: (actor, statement) => {
        if (actor.role !== "anon") return db.main.run(actor, statement)
        statements.push(statement)
        const skipped = new Unavailable({ error: "The statement is not clean", code: "EXECUTION_IN_DOUBT" })
        return onlyClean && !isClean(statement) ? Effect.fail(skipped) : db.main.run(actor, statement)
      }
    }
    const before = yield* runs
    const found = yield* refusal(Effect.provideService(request, Db, { ...db, main }))
    return {
      text: statements.map(({ text }) => text).join("\n"),
      clean: statements.length > 0 && statements.every(isClean),
      // A transaction that only reads refuses nextval.
      ran: (yield* runs) !== before || found.endsWith(" 25006"),
      found
    }
  })

// `Tripwires` looks for user code that a definition names.
suite("statements that count as free of user code", (it) => {
  it.effect("run none that PostgreSQL could choose for them", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const isClean = Effect.map(catalogue, (now) => now.relation("public", "linked")?.clean_read)
      const askAll = Effect.gen(function* () {
        let clean = 0
        for (const line of linkedQueries) {
          const answer = yield* ask(raw.get(line, { actor: anon }), true)
          if (answer.clean && answer.found === "200") clean += 1
          if (answer.clean && answer.ran) assert.fail(`${line} ran user code: ${answer.text}`)
        }
        return clean
      })
      yield* makeAll([["table", linkedTable]])
      assert.isTrue(yield* isClean)
      assert.isAbove(yield* askAll, linkedQueries.length / 3)
      const check = ({ make, unmake }: Linked) =>
        Effect.gen(function* () {
          const refused = yield* makeAll([
            ["table", linkedTable],
            ["linked", make]
          ])
          if (refused.size > 0) return
          const asked = Effect.flatMap(isClean, (clean) => (clean === true ? askAll : Effect.void))
          yield* unmake === undefined ? asked : Effect.ensuring(asked, sql(unmake))
        })
      yield* holds(linked, check, { runs: 12, millis: 1_000 * effort })
    })
  )
})
