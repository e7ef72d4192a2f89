import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type AddressInfo, connect, createServer } from "node:net"
import { ddlEpochSql } from "../../../src/domain/catalogue/DdlSql.ts"
import { atPlace, type Login, socketAddress } from "../../../src/layers/postgres/Login.ts"
import { makeRowPath } from "../../../src/layers/postgres/rows/RowPath.ts"
import { serviceActor, type Statement } from "../../../src/services/ports/Db.ts"
import { AnswerMemory } from "../../../src/services/access/AnswerBudget.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const marker = "the answer of the write"

/** Where the CommandComplete behind the marker ends: the message is "C", its length in four bytes, and a tag. */
const cutAt = (bytes: Buffer) => {
  const at = bytes.indexOf(marker)
  const complete = at < 0 ? -1 : bytes.indexOf("C", at + marker.length, "latin1")
  return complete < 0 ? undefined : complete + 1 + bytes.readInt32BE(complete + 1)
}

/** A proxy that closes the client's connection between PostgreSQL's answer to the marked statement and what follows. */
const cutting = (login: Login) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((near) => {
        const far = connect(socketAddress(login.at))
        near.on("data", (bytes: Buffer) => far.write(bytes)).on("error", () => undefined)
        far.on("error", () => near.destroy())
        far.on("data", (bytes: Buffer) => {
          const end = cutAt(bytes)
          if (end === undefined) near.write(bytes)
          else near.end(bytes.subarray(0, end))
        })
        // PostgreSQL must not notice before it has committed.
        near.on("close", () => setTimeout(() => far.destroy(), 100))
      })
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      return server
    }),
    (server) => Effect.sync(() => server.close())
  )

layer(layerDatabase({ name: "lost" }), live)("a write whose connection is lost", (it) => {
  for (const clean of [true, false]) {
    it.effect(`is reported, and not run again (${clean ? "clean" : "user code"})`, () =>
      Effect.gen(function* () {
        const { login, sql } = yield* Outside
        const table = clean ? "written_clean" : "written"
        yield* sql(`create table ${table} (id bigint generated always as identity)`)
        const [{ epoch } = {}] = yield* sql(`select ${ddlEpochSql} as epoch`)
        const server = yield* cutting(login)
        const through = atPlace(login, { host: "127.0.0.1", port: (server.address() as AddressInfo).port })
        const path = makeRowPath({
          authenticator: through,
          owner: through,
          serviceRole: login.user,
          searchPath: "public",
          poolSize: 2,
          timeout: 5000,
          maxPublicAnswer: 1024 * 1024,
          memory: new AnswerMemory(1024 * 1024)
        })
        const statement: Statement = {
          text: `insert into public.${table} default values returning '${marker}'`,
          params: [],
          epoch: Number(epoch),
          clean,
          access: "write"
        }
        const failure = yield* Effect.flip(path.run(serviceActor, statement))
        assert.strictEqual(failure._tag, "Unavailable")
        yield* path.close
        assert.deepStrictEqual(yield* sql(`select count(*)::int as written from ${table}`), [{ written: 1 }])
      })
    )
  }
})
