import { Effect, Schema } from "effect"
import { LRUCache } from "lru-cache"
import { Bodies, type Body, bodyRow, namesInBody } from "../../domain/catalogue/bodies/Body.ts"
import { bodiesSql } from "../../domain/catalogue/bodies/BodiesSql.ts"
import { type BodyParser } from "../../domain/catalogue/bodies/Names.ts"
import { type Database, serviceActor } from "../ports/Db.ts"
import { sqlParser } from "../sql/SqlParser.ts"
import { yieldEvery } from "../LoopTurn.ts"

/** Results kept by a body's text; one takes 60 to 90 µs to make. */
const maxResults = 2000

const decode = Schema.decodeUnknownEffect(Bodies)

/** Reads the functions of a database whose bodies are text, for the second parameter of `catalogueSql`. */
export const makeFunctionBodies = Effect.gen(function* () {
  // Loaded while PostgreSQL is asked for the first bodies.
  yield* Effect.forkScoped(sqlParser)
  const results = new LRUCache<string, { readonly names: ReturnType<typeof namesInBody> }>({ max: maxResults })

  const read = (parser: BodyParser, body: Body) => {
    const key = `${body.language}:${body.head}:${body.source}`
    const known = results.get(key) ?? { names: namesInBody(parser, body) }
    results.set(key, known)
    return known.names === undefined ? undefined : bodyRow(body, known.names)
  }

  return Effect.fnUntraced(function* (database: Database) {
    const [text] = yield* database.run(serviceActor, {
      text: bodiesSql,
      params: [],
      access: "read",
      searchPath: "pg_catalog"
    })
    const bodies = yield* Effect.orDie(decode(text))
    if (bodies.length === 0) return "[]"
    const loaded = yield* sqlParser
    const pause = yield* yieldEvery()
    const rows = yield* Effect.forEach(bodies, (body) => Effect.as(pause, read(loaded, body)))
    return JSON.stringify(rows.filter((row) => row !== undefined))
  })
})
