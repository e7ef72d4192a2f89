import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdir } from "node:fs/promises"
import { FunctionEngine } from "../../../src/services/ports/functions/FunctionEngine.ts"
import { isWithout } from "../../support/skips.ts"
import { called, layerDeno, started } from "../../support/functions/engine.ts"

layer(layerDeno({ PUBLIC_URL: "https://svc.example" }), { excludeTestServices: true })("functions in Deno", (it) => {
  it.effect.skipIf(isWithout("deno"))(
    "answer with what their handler returns, and see their own URL, environment and files",
    () =>
      Effect.gen(function* () {
        const { lines, process } = yield* started(
          {
            "hello/index.ts": `import { name } from "../_shared/name.ts"
            import data from "./data.json" with { type: "json" }
            Deno.serve(async (request) => {
              console.log("called with", { body: await request.text() })
              return Response.json([name, data, request.url, Deno.env.get("GREETING"), Deno.env.get("PATH") ?? null, import.meta.main])
            })`,
            "hello/data.json": `{"a":1}`,
            "_shared/name.ts": `export const name: string = "shared"`
          },
          { entrypoint: "hello/index.ts", env: { GREETING: "hi" } }
        )
        const answer = yield* called(process, {
          method: "POST",
          body: "text",
          path: "/hello/x?y=1",
          headers: { "x-request-id": "r1" }
        })
        assert.deepStrictEqual(JSON.parse(answer.text), [
          "shared",
          { a: 1 },
          "https://svc.example/hello/x?y=1",
          "hi",
          null,
          true
        ])
        assert.deepStrictEqual(lines, [{ level: "info", requestId: "r1", text: `called with { body: "text" }` }])
      })
  )

  it.effect.skipIf(isWithout("deno"))("may be a default export with fetch", () =>
    Effect.gen(function* () {
      const { process } = yield* started({ "index.ts": `export default { fetch: () => new Response("default") }` })
      assert.strictEqual((yield* called(process)).text, "default")
    })
  )

  it.effect.skipIf(isWithout("deno"))("answer 500 when their handler throws, and log the position in the source", () =>
    Effect.gen(function* () {
      const { lines, process } = yield* started({ "index.ts": `\n\nDeno.serve(() => { throw new Error("no luck") })` })
      const answer = yield* called(process)
      assert.strictEqual(answer.status, 500)
      assert.notInclude(answer.text, "no luck")
      assert.match(lines[0]?.text ?? "", /no luck[\s\S]*index\.ts:3:/)
      assert.strictEqual((yield* called(process)).status, 500) // it has not ended
    })
  )

  it.effect.skipIf(isWithout("deno"))("use packages of npm, locked at the build", () =>
    Effect.gen(function* () {
      // As packages with WebAssembly do, which read it beside their code.
      const { bundle, process } = yield* started({
        "index.ts": `import ms from "npm:ms@2.1.3"
          const file = new URL("package.json", import.meta.resolve("npm:ms@2.1.3"))
          const { version } = JSON.parse(await Deno.readTextFile(file))
          Deno.serve(() => new Response(version + " " + ms("2 days")))`
      })
      assert.strictEqual((yield* called(process)).text, "2.1.3 172800000")
      assert.isAbove(bundle.length, 1000)
    })
  )

  it.effect.skipIf(isWithout("deno"))(
    "are not built with a missing file, a syntax error, or a file that is not theirs",
    () =>
      Effect.gen(function* () {
        const { build } = yield* FunctionEngine
        const fault = (text: string) =>
          Effect.map(
            Effect.flip(build({ "index.ts": text }, "index.ts")),
            (error) => `${error.error} ${JSON.stringify(error.details)}`
          )
        assert.include(yield* fault(`import "./gone.ts"`), "gone.ts")
        assert.include(yield* fault(`Deno.serve(() => {`), "index.ts:1")
        for (const statement of [
          `import x from "file:///etc/hostname" with { type: "text" }`,
          `import x from "../../../../../../../etc/hostname" with { type: "text" }`,
          `import x from "/etc/hostname" with { type: "bytes" }`
        ]) {
          assert.match(
            yield* fault(`${statement}\nDeno.serve(() => new Response(x))`),
            /not among its own files|could not be built/
          )
        }
      })
  )

  it.effect.skipIf(isWithout("deno"))("leave nothing behind", () =>
    Effect.gen(function* () {
      const { end, ended } = yield* Effect.map(
        Effect.scoped(started({ "index.ts": `Deno.serve(() => new Response("x"))` })),
        ({ process }) => process
      )
      end("again")
      assert.strictEqual(yield* Effect.promise(() => ended), "the service ends it")
      const sockets = yield* Effect.promise(() =>
        readdir("/tmp").then((names) => names.filter((name) => name.startsWith("svc-functions-")))
      )
      assert.isAtMost(sockets.length, 50)
    })
  )
})
