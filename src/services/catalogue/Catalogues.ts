import { Context, Effect, Fiber, Layer, Schema } from "effect"
import {
  type Catalogue,
  CatalogueRows,
  type PromisedFunction,
  makeCatalogue,
  promisedFix,
  promisedMessage
} from "../../domain/catalogue/Catalogue.ts"
import { catalogueSql } from "../../domain/catalogue/CatalogueSql.ts"
import { ddlEpochSql } from "../../domain/catalogue/DdlSql.ts"
import { fingerprintSql } from "../../domain/catalogue/FingerprintSql.ts"
import { type DatabaseError, Unavailable } from "../../domain/errors.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { type Database, serviceActor } from "../ports/Db.ts"
import { Listener } from "../ports/Listener.ts"
import { watchChannel } from "../NotifiedCache.ts"
import { makeFunctionBodies } from "./FunctionBodies.ts"
import { ExposedSchemas } from "./ExposedSchemas.ts"
import { isSameDefinition, isSameTable } from "./Stamps.ts"

type Reading = Effect.Effect<Catalogue, DatabaseError | Unavailable>

/**
 * DDL is reported more than once: by the caller that runs it, by PostgreSQL, and when the fingerprint is compared
 * (layerUpkeep).
 */
interface LastRead {
  readonly catalogue: Catalogue
  /** Undefined if something has changed, whether or not it was recorded. */
  readonly epoch: number | undefined
  /** The fingerprint of the definitions, taken before they were read. */
  readonly fingerprint: string | undefined
}

/** The catalogue of one database. */
interface Known {
  /** The generation of DDL that `current` belongs to. */
  ddl: number | undefined
  current: Catalogue | undefined
  /** The epoch of `current`; undefined if it is unknown. */
  epoch: number | undefined
  /** The catalogue read last, with what shows whether it is still current; only where DDL is reported. */
  last: LastRead | undefined
  /** The catalogue before the last change, while the new one is being read. */
  former: Catalogue | undefined
  /**
   * Set if the last change came through the service: then the former catalogue is used only for tables whose definition is
   * still the same, which is asked once a change for each.
   */
  unchanged: Map<string, Effect.Effect<boolean>> | undefined
  /** A read in progress, shared by all callers that wait for it. */
  reading: Reading | undefined
  /** Grows with every change; a read that began before the last one is out of date. */
  changes: number
}

/** Functions that are logged at once; Insights lists all. */
const maxWarnings = 10

const outdate = (known: Known) => {
  known.changes++
  known.former = known.current ?? known.former
  known.current = undefined
}

const busy = Effect.suspend(() =>
  Effect.fail(new Unavailable({ error: "The database is too busy to read its schema; retry", code: "DATABASE_BUSY" }))
)
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(CatalogueRows))

/** Logs the functions that were not in the catalogue read before. */
const warnOfPromised = (
  { name }: Database,
  promised: ReadonlyArray<PromisedFunction>,
  before: ReadonlyArray<PromisedFunction> = []
) => {
  const known = new Set(before.map(({ signature }) => signature))
  const fresh = promised.filter(({ signature }) => !known.has(signature))
  return Effect.forEach(
    fresh.slice(0, maxWarnings),
    (fn) => Effect.logWarning(`${promisedMessage(fn)}. To resolve it in database ${name}: ${promisedFix(fn)}`),
    { discard: true }
  )
}

/**
 * The tables and functions of each database. Read again after DDL, which PostgreSQL reports where the service may have
 * an event trigger, and `/v1/sql` does. An unknown name is looked up once more, so a new object is visible at once.
 */
export class Catalogues extends Context.Service<
  Catalogues,
  {
    readonly get: (database: Database) => Reading
    /**
     * Picks by name. If `pick` finds nothing and the name's definition has changed, picks again from a new catalogue.
     * While a new catalogue is read after a change elsewhere, picks from the former one, which has no `epoch`. With
     * `exact`, the pick must be current: where DDL is not reported, the definition is compared first. After a change
     * through the service, only picks that depend on this table `alone` come from the former one, if it is unchanged.
     */
    readonly find: <A>(
      database: Database,
      schema: string,
      name: string,
      pick: (catalogue: Catalogue) => A | undefined,
      options?: { readonly exact?: boolean | undefined; readonly alone?: (() => boolean) | undefined }
    ) => Effect.Effect<A | undefined, DatabaseError | Unavailable>
    /** Reports that something was created, altered or dropped. */
    readonly changed: (database: Database) => Effect.Effect<void>
    /**
     * The epoch of the current catalogue, which proves that a statement runs no user code. Undefined for a former
     * catalogue, and where DDL is not reported as it happens.
     */
    readonly epoch: (database: Database, catalogue: Catalogue) => number | undefined
    /** Reads the catalogue again if the current one has this outdated epoch. */
    readonly after: (database: Database, epoch: number) => Reading
  }
>()("svc/services/Catalogues") {
  static readonly layer = Layer.effect(
    Catalogues,
    Effect.gen(function* () {
      const { schemas } = yield* ExposedSchemas
      const readBodies = yield* makeFunctionBodies
      const all = new Map<string, Known>()
      const ddlOfMain = yield* watchChannel(yield* Listener, "svc_ddl")
      const ddlOf = (database: Database) => (database.ddlGeneration ?? ddlOfMain)()

      const knownOf = (database: Database): Known => {
        const known = all.get(database.name) ?? {
          ddl: undefined,
          current: undefined,
          epoch: undefined,
          last: undefined,
          former: undefined,
          unchanged: undefined,
          reading: undefined,
          changes: 0
        }
        all.set(database.name, known)
        const ddl = ddlOf(database)
        if (ddl !== known.ddl) {
          known.ddl = ddl
          outdate(known)
        }
        return known
      }

      /** Drops the catalogue after a change that was not reported. */
      const invalidate = (database: Database) => {
        const known = knownOf(database)
        outdate(known)
        known.last = undefined
      }

      const readRows = Effect.fnUntraced(function* (database: Database) {
        const [text] = yield* database.run(serviceActor, {
          text: catalogueSql,
          params: [arrayLiteral(schemas), yield* readBodies(database)],
          access: "read",
          searchPath: "pg_catalog"
        })
        return makeCatalogue(yield* Effect.orDie(decode(text)))
      })

      /** Undefined if it takes too long: then the definitions are read instead. */
      const fingerprintOf = (database: Database) =>
        database.run(serviceActor, { text: fingerprintSql, params: [], access: "read", searchPath: "pg_catalog" }).pipe(
          Effect.map(([value]) => String(value)),
          Effect.catchIf(
            (error) => error._tag === "DatabaseError",
            () => Effect.undefined
          )
        )

      /** Whether nothing has changed since `epoch`, or since `before` without an epoch. */
      const isCurrent = Effect.fnUntraced(function* (
        database: Database,
        { watched }: Catalogue,
        epoch: number | undefined,
        before: number
      ) {
        for (let tries = 3; tries > 0; tries--) {
          const { changes } = knownOf(database)
          if (epoch !== (yield* readEpoch(database))) return false
          if (knownOf(database).changes === before) return true
          if (!watched || epoch === undefined) return false
          // A change reported in the meantime may have happened after the epoch was read.
          if (knownOf(database).changes === changes) return true
        }
        return false
      })

      const read = (database: Database, known: Known, tries = 2): Reading =>
        Effect.suspend(() => {
          const before = knownOf(database).changes
          return Effect.gen(function* () {
            const epoch = yield* readEpoch(database)
            const { last } = known
            const same = last !== undefined && epoch !== undefined && last.epoch === epoch
            const fingerprint = same ? last.fingerprint : yield* fingerprintOf(database)
            const unchanged = same || (fingerprint !== undefined && fingerprint === last?.fingerprint)
            const catalogue = unchanged && last !== undefined ? last.catalogue : yield* readRows(database)
            // Changed during the read, so the result may mix old and new.
            if (!(yield* isCurrent(database, catalogue, epoch, before))) {
              if (tries > 1) return yield* read(database, known, tries - 1)
              // DDL comes faster than the catalogue can be read, and requests must not wait for it to end.
              known.former = catalogue
              return catalogue
            }
            yield* warnOfPromised(database, catalogue.promised, known.last?.catalogue.promised)
            known.current = catalogue
            known.epoch = epoch
            known.last = catalogue.watched && epoch !== undefined ? { catalogue, epoch, fingerprint } : undefined
            known.former = undefined
            known.unchanged = undefined
            return catalogue
          }).pipe(
            // The statements are the service's own, so their errors are not the caller's.
            Effect.catchTag("DatabaseError", (error) => (error.status === 504 ? busy : Effect.die(error)))
          )
        })

      const readEpoch = (database: Database) =>
        database
          .run(serviceActor, {
            text: `select ${ddlEpochSql}`,
            params: [],
            access: "read",
            searchPath: "pg_catalog"
          })
          .pipe(
            Effect.map(([epoch]) => Number(epoch)),
            // A branch without the table.
            Effect.catchIf(
              (error) => error._tag === "DatabaseError" && error.code === "42P01",
              () => Effect.undefined
            )
          )

      const get = (database: Database): Reading =>
        Effect.suspend(() => {
          const known = knownOf(database)
          if (known.current !== undefined) return Effect.succeed(known.current)
          if (known.reading !== undefined) return known.reading
          // Detached from the first caller, which may disconnect while others wait.
          return Effect.flatMap(Effect.forkDetach(read(database, known)), (fiber) => {
            known.reading = Fiber.join(fiber)
            fiber.addObserver(() => {
              known.reading = undefined
            })
            return known.reading
          })
        })

      const epochOf = (database: Database, catalogue: Catalogue) => {
        const known = knownOf(database)
        return catalogue.watched && catalogue === known.current && ddlOf(database) !== undefined
          ? known.epoch
          : undefined
      }

      const search = Effect.fnUntraced(function* <A>(
        database: Database,
        schema: string,
        name: string,
        pick: (catalogue: Catalogue) => A | undefined,
        exact: boolean
      ) {
        const catalogue = yield* get(database)
        const picked = pick(catalogue)
        if (picked !== undefined && (!exact || epochOf(database, catalogue) !== undefined)) return picked
        if (name.includes("\0")) return undefined // no name contains it
        if (yield* isSameDefinition(database, catalogue, schema, name)) return picked
        if (knownOf(database).current === catalogue) invalidate(database)
        return pick(yield* get(database))
      })

      /** Asks once for all that wait, and for the requests that follow until the next change. */
      const askedOnce = (database: Database, former: Catalogue, schema: string, name: string) =>
        Effect.suspend(() => {
          const { unchanged } = knownOf(database)
          const key = `${schema}\0${name}`
          const asked = unchanged?.get(key)
          if (asked !== undefined) return asked
          return Effect.flatMap(Effect.forkDetach(isSameTable(database, former, schema, name)), (fiber) => {
            const answer = Fiber.join(fiber)
            unchanged?.set(key, answer)
            return answer
          })
        })

      const find = <A>(
        database: Database,
        schema: string,
        name: string,
        pick: (catalogue: Catalogue) => A | undefined,
        {
          alone,
          exact = false
        }: { readonly exact?: boolean | undefined; readonly alone?: (() => boolean) | undefined } = {}
      ): Effect.Effect<A | undefined, DatabaseError | Unavailable> => {
        const { current, former, unchanged } = knownOf(database)
        const picked = current && (!exact || epochOf(database, current) !== undefined) ? pick(current) : undefined
        if (picked !== undefined) return Effect.succeed(picked)
        const searching = search(database, schema, name, pick, exact)
        // Most changes do not affect this name, so the request does not wait; if they do, PostgreSQL reports it.
        const before = former && !exact ? pick(former) : undefined
        if (former === undefined || before === undefined) return searching
        const fromFormer = Effect.as(Effect.forkDetach(get(database)), before)
        if (unchanged === undefined) return fromFormer
        // A caller that has changed something must see it with its next request.
        const kind = former.relation(schema, name)?.kind
        if ((kind !== "table" && kind !== "partitioned") || alone?.() !== true) return searching
        return Effect.flatMap(askedOnce(database, former, schema, name), (same) => (same ? fromFormer : searching))
      }

      return Catalogues.of({
        get,
        find,
        changed: (database) =>
          Effect.sync(() => {
            const known = knownOf(database)
            outdate(known)
            // Also if PostgreSQL does not report it.
            known.unchanged = new Map()
            known.last = known.last && { ...known.last, epoch: undefined }
          }),
        epoch: epochOf,
        after: (database, epoch) =>
          Effect.suspend(() => {
            const known = knownOf(database)
            if (known.current !== undefined && known.epoch === epoch) outdate(known)
            return get(database)
          })
      })
    })
  )
}
