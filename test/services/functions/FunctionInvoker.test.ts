import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { FunctionInvoker } from "../../../src/services/ports/functions/FunctionInvoker.ts"
import { layerFakeFunctions } from "../../fakes/functions/invoker.ts"

it.effect("the fake answers by its handlers, and fails for other names", () =>
  Effect.gen(function* () {
    const { invoke } = yield* FunctionInvoker
    const answer = yield* invoke("echo", { body: "hello" })
    assert.deepStrictEqual([answer.status, Buffer.from(answer.body).toString()], [201, "hello"])
    assert.strictEqual((yield* Effect.flip(invoke("toString", {}))).code, "FUNCTION_NOT_FOUND")
  }).pipe(
    Effect.provide(
      layerFakeFunctions({ echo: ({ body }) => Effect.succeed({ status: 201, body: `${body as string}` }) })
    )
  )
)
