import { Effect } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import { JsonOutline } from "../../domain/text/JsonOutline.ts"
import { maxJsonDepth } from "../../domain/text/JsonScanner.ts"
import { inSteps } from "../LoopTurn.ts"

/** Outlines a body of JSON, considering only these keys. 400 for invalid JSON, and for JSON that PostgreSQL cannot read. */
export const outlineOf = (
  json: Buffer,
  only?: ReadonlyArray<string>,
  texts = false
): Effect.Effect<JsonOutline, InvalidRequest> =>
  Effect.flatMap(inSteps(new JsonOutline(json, only && new Set(only), texts)), (outline) => {
    switch (outline.problem) {
      case undefined:
        return Effect.succeed(outline)
      case "deep":
        return Effect.fail(
          new InvalidRequest({
            error: `The body has arrays and objects nested deeper than ${maxJsonDepth} levels`,
            code: "JSON_TOO_DEEP",
            hint: "Send such JSON as the text of a string"
          })
        )
      default:
        return Effect.fail(new InvalidRequest({ error: "Empty or invalid json", code: "PGRST102" }))
    }
  })
