import { Context, Effect, Layer, Schema } from "effect"
import { makeDocSearch, sectionsOf } from "../../domain/mcp/DocSearch.ts"
import { NotFound } from "../../domain/errors.ts"
import { DocFiles } from "../ports/DocFiles.ts"
import { makeBranchTools } from "./BranchTools.ts"
import { McpSettings } from "./Settings.ts"
import { makeSqlTools } from "./SqlTools.ts"
import { makeTableTools } from "./TableTools.ts"
import { type McpCaller, type McpTool, tool } from "./Tool.ts"

const Search = Schema.Struct({
  query: Schema.NonEmptyString.check(Schema.isMaxLength(200)).annotate({ description: "A few words" })
})

const makeDocTool = Effect.gen(function* () {
  const files = yield* DocFiles
  const search = yield* Effect.cached(
    Effect.map(files.read, (all) => makeDocSearch([...all].flatMap(([name, text]) => sectionsOf(name, text))))
  )
  return tool({
    name: "search_docs",
    title: "Search the documentation",
    description: "Searches this service's documentation, and returns up to 5 sections.",
    input: Search,
    reads: true,
    serviceRole: false,
    data: false,
    run: Effect.fnUntraced(function* (_caller, { query }) {
      const found = (yield* search)(query)
      if (found.length === 0) return yield* new NotFound({ error: "No section of the documentation has these words" })
      return found.map(({ file, heading, text }) => `## ${file}: ${heading}\n\n${text}`).join("\n\n")
    })
  })
})

/** The tools for models (docs/mcp.md). Each tool acts with exactly the rights of its caller. */
export class McpTools extends Context.Service<
  McpTools,
  { readonly toolsOf: (caller: McpCaller) => ReadonlyArray<McpTool> }
>()("svc/services/McpTools") {
  static readonly layer = Layer.effect(
    McpTools,
    Effect.gen(function* () {
      const { mode } = yield* McpSettings
      if (mode === "off") return McpTools.of({ toolsOf: () => [] })
      const all = [
        ...(yield* makeTableTools),
        ...(yield* makeSqlTools),
        ...(yield* makeBranchTools),
        yield* makeDocTool
      ]
      const open = all.filter(({ serviceRole }) => !serviceRole)
      return McpTools.of({ toolsOf: ({ actor }) => (actor.role === "service_role" ? all : open) })
    })
  )
}
