import { Context, Effect, Layer } from "effect"
import { oneOf } from "../../domain/Settings.ts"

/** What the MCP server offers, each more than the one before: nothing, reading, branches to write in, writing. */
const modes = ["off", "read", "branches", "write"] as const

export class McpSettings extends Context.Service<McpSettings, { readonly mode: (typeof modes)[number] }>()(
  "svc/services/McpSettings"
) {
  static readonly layer = Layer.effect(
    McpSettings,
    Effect.map(oneOf("SVC_MCP", "off", modes), (mode) => McpSettings.of({ mode }))
  )
}
