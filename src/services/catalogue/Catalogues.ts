import { Context, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { type Catalogue, CatalogueRows, makeCatalogue } from "../../domain/catalogue/Catalogue.ts"
import { catalogueSql } from "../../domain/catalogue/CatalogueSql.ts"
import { type DatabaseError, Unavailable } from "../../domain/errors.ts"
import { stampsSql } from "../../domain/catalogue/RelationSql.ts"
import { arrayLiteral } from "../../domain/sql/Names.ts"
import { type Database, Db, serviceActor } from "../ports/Db.ts"
import { Listener } from "../ports/Listener.ts"
import { RowSettings } from "../rows/Settings.ts"

type Reading = Effect.Effect<Catalogue, DatabaseError | Unavailable>

/** What we know of one database. */
interface Known {
  /** What `ddlHeard` said when it was read. */
  heard: number | undefined
  current: Catalogue | undefined
  /** What it was before the last change, while it is being read anew. */
  former: Catalogue | undefined
  /** A reading under way, shared by all who wait. */
  reading: Reading | undefined
  /** Grows with every report of a change; a reading that began before the last one is out of date. */
  changes: number
}

const outdate = (known: Known) => {
  known.changes++
  known.former = known.current ?? known.former
  known.current = undefined
}

const slow = Effect.suspend(() =>
  Effect.fail(new Unavailable({ error: "The database is too busy to say what is in it", code: "DATABASE_BUSY" }))
)
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(CatalogueRows))

/**
 * What tables and functions there are. Read again after DDL, reported by PostgreSQL where we may have an event trigger
 * and by `/v1/sql`; a name that is not found is looked for once more, so what was made a moment ago is there at once.
 */
export class Catalogues extends Context.Service<
  Catalogues,
  {
    readonly get: (database: Database) => Reading
    /**
     * Picks by name; when `pick` finds nothing and the name's definition changed since, picks again. While the catalogue
     * is read anew after a change elsewhere, it is picked from the one before, which is not `trusted`. `exact`: what is
     * picked must be as it is now, so where DDL does not reach us its definition is compared first.
     */
    readonly find: <A>(
      database: Database,
      schema: string,
      name: string,
      pick: (catalogue: Catalogue) => A | undefined,
      exact?: boolean
    ) => Effect.Effect<A | undefined, DatabaseError | Unavailable>
    /** Something was created, altered or dropped. */
    readonly changed: (database: Database) => Effect.Effect<void>
    /** Whether DDL reaches us as it happens: only then is it known that a statement runs no user code. */
    readonly trusted: (database: Database, catalogue: Catalogue) => boolean
  }
>()("svc/services/Catalogues") {
  static readonly layer = Layer.effect(
    Catalogues,
    Effect.gen(function* () {
      const db = yield* Db
      const listener = yield* Listener
      const { schemas } = yield* RowSettings
      const all = new Map<string, Known>()
      let hearing = false

      const knownOf = (database: Database): Known => {
        const known = all.get(database.name) ?? {
          heard: undefined,
          current: undefined,
          former: undefined,
          reading: undefined,
          changes: 0
        }
        all.set(database.name, known)
        if (database.ddlHeard !== undefined) {
          const heard = database.ddlHeard()
          if (heard !== known.heard) {
            known.heard = heard
            outdate(known)
          }
        }
        return known
      }

      const forget = (database: Database) => outdate(knownOf(database))

      const read = (database: Database, known: Known): Reading =>
        Effect.suspend(() => {
          const before = knownOf(database).changes
          return database
            .run(serviceActor, { text: catalogueSql, params: [arrayLiteral(schemas)], clean: true, access: "read" })
            .pipe(
              // The text is ours: what is wrong with it is not the caller's.
              Effect.catchTag("DatabaseError", (error) => (error.status === 504 ? slow : Effect.die(error))),
              Effect.flatMap(([text]) => Effect.orDie(decode(text))),
              Effect.map(makeCatalogue),
              Effect.flatMap((catalogue): Reading => {
                // Changed meanwhile: what was read may be half old.
                if (before !== knownOf(database).changes) return read(database, known)
                known.current = catalogue
                known.former = undefined
                return Effect.succeed(catalogue)
              })
            )
        })

      const get = (database: Database): Reading =>
        Effect.suspend(() => {
          const known = knownOf(database)
          if (known.current !== undefined) return Effect.succeed(known.current)
          if (known.reading !== undefined) return known.reading
          // Detached from the first asker: it may hang up while others wait.
          return Effect.flatMap(Effect.forkDetach(read(database, known)), (fiber) => {
            known.reading = Fiber.join(fiber)
            fiber.addObserver(() => {
              known.reading = undefined
            })
            return known.reading
          })
        })

      const trusted = (database: Database, catalogue: Catalogue) =>
        catalogue.watched &&
        catalogue === knownOf(database).current &&
        (database.ddlHeard === undefined ? hearing : database.ddlHeard() !== undefined)

      const stamps = (database: Database, schema: string, name: string) =>
        Effect.map(
          database.run(serviceActor, { text: stampsSql, params: [schema, name], clean: true, access: "read" }),
          ([text]) => String(text)
        )

      const stampsKnown = (catalogue: Catalogue, schema: string, name: string) => {
        const relation = catalogue.relation(schema, name)
        const found = catalogue.routines(schema, name).map((routine) => routine.stamp)
        return (relation ? [relation.stamp, ...found] : found).sort().join(",")
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
        if (picked !== undefined && (!exact || trusted(database, catalogue))) return picked
        if (name.includes("\0")) return undefined // of which no name is made
        if ((yield* stamps(database, schema, name)) === stampsKnown(catalogue, schema, name)) return picked
        if (knownOf(database).current === catalogue) forget(database)
        return pick(yield* get(database))
      })

      const find = <A>(
        database: Database,
        schema: string,
        name: string,
        pick: (catalogue: Catalogue) => A | undefined,
        exact = false
      ) => {
        const { current, former } = knownOf(database)
        const picked = current && (!exact || trusted(database, current)) ? pick(current) : undefined
        if (picked !== undefined) return Effect.succeed(picked)
        // Nobody waits for what a change elsewhere has nothing to do with; what is gone, PostgreSQL tells.
        const before = former && !exact ? pick(former) : undefined
        return before === undefined
          ? search(database, schema, name, pick, exact)
          : Effect.as(Effect.forkDetach(get(database)), before)
      }

      const { heard } = yield* listener.listen("svc_ddl")
      yield* heard.pipe(
        Stream.runForEach((message) =>
          Effect.sync(() => {
            if (message._tag !== "Notification") hearing = message._tag === "Connected"
            forget(db.main)
          })
        ),
        Effect.forkScoped
      )

      return Catalogues.of({
        get,
        find,
        changed: (database) =>
          Effect.sync(() => {
            const known = knownOf(database)
            outdate(known)
            // Who changed something here sees it with the next request.
            known.former = undefined
          }),
        trusted
      })
    })
  )
}
