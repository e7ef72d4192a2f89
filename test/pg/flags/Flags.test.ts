import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type Flag, type FlagHistoryEntry } from "../../../src/domain/flags/Flag.ts"
import { type ClientError } from "../../../src/domain/errors.ts"
import { type JsonRecord } from "../../../src/domain/Revision.ts"
import { FlagHistory } from "../../../src/services/flags/History.ts"
import { Flags } from "../../../src/services/flags/Flags.ts"
import { FlagSegments } from "../../../src/services/flags/Segments.ts"
import { FlagSets } from "../../../src/services/flags/Sets.ts"
import { layerFlagUsage } from "../../../src/services/flags/Evaluations.ts"
import { flagsLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { live } from "../../support/database.ts"
import { author, evaluated, flag, layerFlags, replica, segment, sql } from "../../support/flags/flags.ts"
import { refusal } from "../../support/requests.ts"

const recordOf = ({ json }: JsonRecord) => JSON.parse(json) as Flag
const history = (key: string, limit = 50, before?: number, kind: "flag" | "segment" = "flag") =>
  Effect.map(
    Effect.flatMap(FlagHistory, (all) => all.page(kind, key, limit, before)),
    (text) => JSON.parse(text) as ReadonlyArray<FlagHistoryEntry>
  )
/** Code and details of the error of an effect that must fail. */
const problems = <A, R>(effect: Effect.Effect<A, ClientError, R>) =>
  Effect.map(Effect.flip(effect), ({ code, details }) => [code, ...(details as ReadonlyArray<string>)])

layer(layerFlags({ name: "flags" }), live)("flags", (it) => {
  it.effect("are stored unchanged: order of variants, large numbers, odd names", () =>
    Effect.gen(function* () {
      const flags = yield* Flags
      const variants = { z: { "2": 1, "1": [1e21 / 1e15, -0.5, 9_007_199_254_740_991, null] }, a: { ä: "🎉 \"\\' " } }
      const made = recordOf(yield* flag("kept", { type: "object", variants, defaultVariant: "z", description: "d" }))
      assert.deepInclude(made, { key: "kept", type: "object", description: "d", state: "ENABLED", targeting: {} })
      assert.deepStrictEqual(Object.keys(made.variants), ["z", "a"])
      assert.strictEqual(JSON.stringify(made.variants), JSON.stringify(variants))
      assert.deepInclude(made, { environment: "production", last_evaluated_at: null })
      assert.deepStrictEqual(recordOf(yield* flags.find("kept", "dev")), { ...made, environment: "dev" })
      const one = { state: "ENABLED", targeting: {}, defaultVariant: "z", last_evaluated_at: null }
      assert.deepStrictEqual(made.environments, { dev: one, staging: one, production: one } as Flag["environments"])
      assert.match(made.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })
  )

  it.effect("have a history of changes and their authors, without changes that have no effect", () =>
    Effect.gen(function* () {
      const flags = yield* Flags
      const created = yield* flag("told")
      const same = yield* flags.update(author, "told", recordOf(created) as object, undefined, undefined)
      assert.strictEqual(same.revision, created.revision)
      yield* flags.toggle(author, "told", "dev", undefined)
      yield* flags.update({ type: "key", id: 8, label: "" }, "told", { description: "x" }, "dev", undefined)
      yield* flags.update(author, "told", { state: "DISABLED" }, "staging", undefined)
      yield* flags.promote(author, "told", { from: "dev", to: "production" }, undefined)
      yield* flags.promote(author, "told", { from: "dev", to: "production" }, undefined)
      yield* flags.remove(author, "told", undefined)
      const entries = yield* history("told")
      assert.deepStrictEqual(
        entries.map(({ action, environment }) => `${action} ${environment}`),
        ["deleted null", "promoted production", "updated staging", "updated null", "toggled dev", "created null"]
      )
      for (const [n, entry] of entries.entries()) {
        assert.deepStrictEqual(entry.before, entries[n + 1]?.after ?? null)
        assert.strictEqual(entry.revision, created.revision + entries.length - 1 - n)
        assert.deepStrictEqual(entry.actor, n === 3 ? { type: "key", id: 8, label: "" } : author)
      }
      assert.isNull(entries[0]?.after ?? null)
      const ids = entries.map(({ id }) => id)
      assert.deepStrictEqual(
        (yield* history("told", 2)).map(({ id }) => id),
        ids.slice(0, 2)
      )
      assert.deepStrictEqual(
        (yield* history("told", 3, ids[1])).map(({ id }) => id),
        ids.slice(2, 5)
      )
      assert.deepStrictEqual(yield* history("told", 3, ids.at(-1)), [])
      assert.strictEqual(yield* refusal(history("never")), "404 FLAG_NOT_FOUND")
      assert.strictEqual(yield* refusal(history("told", 1, undefined, "segment")), "404 SEGMENT_NOT_FOUND")
    })
  )

  it.effect("with large histories have small pages", () =>
    Effect.gen(function* () {
      const flags = yield* Flags
      const text = "x".repeat(200 * 1024)
      yield* flag("large", { type: "string", variants: { a: text, b: "" }, defaultVariant: "a" })
      for (let n = 0; n < 14; n++) yield* flags.toggle(author, "large", undefined, undefined)
      const ids: Array<number> = []
      for (let page = yield* history("large"); page.length > 0; page = yield* history("large", 50, ids.at(-1))) {
        assert.isBelow(page.length, 15)
        ids.push(...page.map(({ id }) => id))
      }
      assert.strictEqual(ids.length, 15)
    })
  )

  it.effect("change for only one of two writers that expect the same revision", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { revision } = yield* flag("contested")
        const elsewhere = yield* replica
        const write = (description: string) =>
          Effect.flatMap(Flags, (flags) => flags.update(author, "contested", { description }, undefined, [revision]))
        const results = yield* Effect.all(
          [refusal(write("a")), refusal(Effect.provide(write("b"), elsewhere)), refusal(write("c"))],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(results.sort(), ["200", "412 PRECONDITION_FAILED", "412 PRECONDITION_FAILED"])
        const flags = yield* Flags
        assert.strictEqual(yield* refusal(flags.toggle(author, "contested", undefined, "*")), "200")
        assert.strictEqual(yield* refusal(flags.remove(author, "contested", [revision])), "412 PRECONDITION_FAILED")
        assert.strictEqual(yield* refusal(flags.remove(author, "gone", [revision])), "404 FLAG_NOT_FOUND")
      })
    )
  )

  it.effect("lose no change with concurrent writers in two replicas", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const elsewhere = yield* replica
        const before = (yield* FlagSets).revision()
        yield* Effect.forEach(
          Array.from({ length: 60 }, (_, n) => n),
          (n) => (n % 2 === 0 ? flag(`many-${n}`) : Effect.provide(flag(`many-${n}`), elsewhere)),
          { concurrency: "unbounded" }
        )
        yield* flag("switch")
        const toggle = Effect.flatMap(Flags, (flags) => flags.toggle(author, "switch", undefined, undefined))
        yield* Effect.all(
          Array.from({ length: 41 }, (_, n) => (n % 2 === 0 ? toggle : Effect.provide(toggle, elsewhere))),
          { concurrency: "unbounded" }
        )
        const sets = yield* FlagSets
        yield* sets.awaitRevision(before + 102)
        assert.strictEqual(sets.revision(), before + 102)
        assert.strictEqual(yield* evaluated("switch"), "DISABLED")
        assert.strictEqual((yield* history("switch")).length, 42)
        const [rows] = yield* sql(
          `select count(*)::int as n, count(distinct revision)::int as d from svc.flags where key like 'many-%'`
        )
        assert.deepStrictEqual(rows, { n: 60, d: 60 })
      })
    )
  )

  it.effect("wait for another writer, with a time limit; a writer whose session ends leaves nothing", () =>
    Effect.gen(function* () {
      yield* flag("waiting")
      const flags = yield* Flags
      const toggle = flags.toggle(author, "waiting", undefined, undefined)
      yield* sql(`begin; select pg_advisory_xact_lock(${flagsLock})`)
      const began = Date.now()
      assert.strictEqual(yield* refusal(toggle), "503 FLAGS_BUSY")
      assert.isBelow(Date.now() - began, 8_000)
      const [, ended] = yield* Effect.all([toggle, Effect.andThen(Effect.sleep("300 millis"), sql("rollback"))], {
        concurrency: 2
      })
      assert.deepStrictEqual(ended, [])
      assert.strictEqual(yield* evaluated("waiting"), "DISABLED")

      const at = (yield* FlagSets).revision()
      yield* sql(`create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(10); return new; end';
        create trigger slow before insert on svc.flag_history for each row execute function slow()`)
      const killed = yield* Effect.all(
        [
          Effect.exit(toggle),
          Effect.andThen(
            Effect.sleep("500 millis"),
            sql(`select pg_terminate_backend(pid) from pg_stat_activity
                 where application_name = 'svc' and state = 'active' and query like '%svc.flag_history%'`)
          )
        ],
        { concurrency: 2 }
      )
      assert.strictEqual(killed[0]._tag, "Failure")
      yield* sql("drop trigger slow on svc.flag_history")
      const [state] = yield* sql(
        `select (select revision::int from svc.flag_revision) as revision,
           (select production->>'state' from svc.flags where key = 'waiting') as state`
      )
      assert.deepStrictEqual(state, { revision: at, state: "DISABLED" })
      assert.strictEqual(recordOf(yield* toggle).state, "ENABLED")
      assert.strictEqual((yield* FlagSets).revision(), at + 1)
    })
  )

  it.effect("are rejected with every reason, including fields that can't be changed", () =>
    Effect.gen(function* () {
      const flags = yield* Flags
      yield* flag("strict")
      assert.deepStrictEqual(yield* problems(flag("new", { defaultVariant: "none" })), [
        "INVALID_FLAG",
        'defaultVariant: There is no variant "none"'
      ])
      assert.strictEqual(yield* refusal(flag("strict")), "409 FLAG_EXISTS")
      const update = (change: object) => flags.update(author, "strict", change, undefined, undefined)
      const repeated = yield* problems(
        update({ key: "x", type: "string", environments: { dev: { state: "DISABLED" }, test: {} } })
      )
      assert.deepStrictEqual(
        repeated.map((line) => line.split(":")[0]),
        ["INVALID_FLAG", "key", "type", "environments.dev", "environments.test"]
      )
      yield* flags.update(author, "strict", { targeting: { if: [true, "on", "off"] } }, "dev", undefined)
      yield* flags.update(author, "strict", { defaultVariant: "on" }, "staging", undefined)
      const removed = yield* problems(update({ variants: { yes: true, sure: true, off: false } }))
      assert.deepStrictEqual(removed, [
        "INVALID_FLAG",
        'environments.dev.targeting.if.1: There is no variant "on"',
        'environments.staging.defaultVariant: There is no variant "on"'
      ])
      assert.strictEqual(yield* refusal(flags.find("a b/c\0", undefined)), "404 FLAG_NOT_FOUND")
      assert.strictEqual(yield* refusal(flags.toggle(author, "\0", undefined, undefined)), "404 FLAG_NOT_FOUND")
    })
  )

  it.effect("keep their meaning in every environment when variants are renamed", () =>
    Effect.gen(function* () {
      const flags = yield* Flags
      const targeting = {
        if: [
          { "==": [{ var: "on" }, "on"] },
          "on",
          {
            fractional: [
              ["on", 10],
              ["off", 90]
            ]
          }
        ]
      }
      yield* flag("renamed", { targeting })
      yield* flags.update(author, "renamed", { targeting: {}, defaultVariant: "on" }, "dev", undefined)
      const before = recordOf(yield* flags.find("renamed", undefined))
      const variants = { yes: true, no: false }
      // The whole record with its other environments, as clients send it back.
      const { last_evaluated_at: _, ...record } = before
      const next = recordOf(
        yield* flags.update(
          author,
          "renamed",
          { ...record, variants, defaultVariant: "no", targeting: { if: [{ var: "x" }, "yes"] } } as object,
          undefined,
          undefined
        )
      )
      assert.deepInclude(next.environments.dev, { targeting: {}, defaultVariant: "yes" })
      assert.deepInclude(next.environments.staging, {
        targeting: {
          if: [
            { "==": [{ var: "on" }, "on"] },
            "yes",
            {
              fractional: [
                ["yes", 10],
                ["no", 90]
              ]
            }
          ]
        },
        defaultVariant: "no"
      })
      assert.deepInclude(next, { variants, defaultVariant: "no", targeting: { if: [{ var: "x" }, "yes"] } })
      assert.strictEqual(yield* evaluated("renamed", {}, "dev"), "STATIC yes")
      assert.strictEqual(yield* evaluated("renamed", { on: "on" }, "staging"), "TARGETING_MATCH yes")
      const [entry] = yield* history("renamed", 1)
      assert.strictEqual(entry?.environment, null)
      // Back, with every environment as it will be.
      const { dev, production, staging } = before.environments
      yield* flags.update(
        author,
        "renamed",
        {
          variants: before.variants,
          environments: { dev, staging },
          defaultVariant: "off",
          targeting: production.targeting
        },
        undefined,
        undefined
      )
      const back = recordOf(yield* flags.find("renamed", undefined))
      assert.deepStrictEqual(back.environments, before.environments)
    })
  )

  it.effect("have the time of the last evaluation in each environment, which a new flag does not inherit", () =>
    Effect.gen(function* () {
      const flags = yield* Flags
      yield* flag("used")
      yield* flag("unused")
      const before = Date.now()
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Layer.build(layerFlagUsage)
          yield* evaluated("used", {}, "dev")
          yield* evaluated("used", {}, "production")
        })
      )
      const { environments, last_evaluated_at } = recordOf(yield* flags.find("used", "dev"))
      assert.isAtLeast(Date.parse(last_evaluated_at ?? ""), before)
      assert.strictEqual(environments.dev.last_evaluated_at, last_evaluated_at)
      assert.isNull(environments.staging.last_evaluated_at)
      assert.isNotNull(environments.production.last_evaluated_at)
      assert.isNull(recordOf(yield* flags.find("unused", undefined)).last_evaluated_at)
      yield* flags.remove(author, "used", undefined)
      yield* flag("used")
      assert.isNull(recordOf(yield* flags.find("used", "dev")).last_evaluated_at)
    })
  )
})

layer(layerFlags({ name: "flag_segments" }), live)("segments", (it) => {
  it.effect("are rejected if they would break their users, and not deleted while in use", () =>
    Effect.gen(function* () {
      const segments = yield* FlagSegments
      const update = (key: string, rules: object) => segments.update(author, key, { rules: { ...rules } }, undefined)
      const rule = { "==": [{ var: "a" }, 1] }
      yield* segment("one", rule)
      yield* segment("two", { or: [{ $ref: "one" }, rule] })
      yield* flag("user", { targeting: { if: [{ $ref: "two" }, "on", "off"] } })
      const shown = JSON.parse((yield* segments.find("one")).json) as { readonly used_by: object }
      assert.deepStrictEqual(shown.used_by, { flags: [], segments: ["two"] })
      const { details } = yield* Effect.flip(segments.remove(author, "two", undefined))
      assert.deepStrictEqual(details, { flags: ["user"], segments: [] })
      assert.strictEqual(yield* refusal(segments.remove(author, "one", undefined)), "409 SEGMENT_IN_USE")

      const [code, line = ""] = yield* problems(update("one", { and: [{ $ref: "two" }, rule] }))
      assert.strictEqual(code, "INVALID_SEGMENT")
      assert.match(line, /one.*two/)
      assert.strictEqual(yield* refusal(update("one", { $ref: "one" })), "400 INVALID_SEGMENT")
      assert.strictEqual(yield* refusal(update("one", { $ref: "absent" })), "400 INVALID_SEGMENT")
      assert.strictEqual(yield* refusal(segment("one", rule)), "409 SEGMENT_EXISTS")
      assert.strictEqual(yield* refusal(segment("self", { $ref: "self" })), "400 INVALID_SEGMENT")

      const { revision } = yield* segments.find("two")
      yield* segments.update(author, "two", { name: "Two" }, [revision])
      assert.strictEqual(
        yield* refusal(segments.update(author, "two", { name: "Zwei" }, [revision])),
        "412 PRECONDITION_FAILED"
      )
      yield* Effect.flatMap(Flags, (flags) => flags.remove(author, "user", undefined))
      yield* segments.remove(author, "two", undefined)
      yield* segments.remove(author, "one", undefined)
      assert.strictEqual(yield* segments.list, "[]")
      assert.deepStrictEqual(
        (yield* history("two", 50, undefined, "segment")).map(({ action }) => action),
        ["deleted", "updated", "created"]
      )
    })
  )

  it.effect("that make a flag too large through doubling are rejected, with the key of the flag", () =>
    Effect.gen(function* () {
      const segments = yield* FlagSegments
      const wide = (n: number) => ({ or: Array.from({ length: n }, (_, i) => ({ "==": [{ var: "a" }, i] })) })
      yield* segment("base", wide(1))
      for (let n = 0; n < 6; n++) {
        const ref = { $ref: n === 0 ? "base" : `double-${n - 1}` }
        yield* segment(`double-${n}`, { or: [ref, ref, ref, ref] })
      }
      yield* flag("wide", { targeting: { if: [{ $ref: "double-5" }, "on", "off"] } })
      const began = Date.now()
      const [code, ...lines] = yield* problems(segments.update(author, "base", { rules: { ...wide(500) } }, undefined))
      assert.strictEqual(code, "INVALID_SEGMENT")
      assert.match(lines.join("\n"), /flags\.wide|segments\.double/)
      assert.isBelow(Date.now() - began, 2_000)
      assert.strictEqual(yield* evaluated("wide", { a: 0 }), "TARGETING_MATCH on")
    })
  )
})
