import { Context, Effect, Layer } from "effect"
import { oneOf } from "../../domain/Settings.ts"

/** What the MCP server offers, each more than the one before: nothing, reading, branches to write in, writing. */
const modes = ["off", "read", "branches", "write"] as const

/** The setting, which also decides whether the database gets a login for assistants. */
export const mcpMode = oneOf("SVC_MCP", "off", modes)

export class McpSettings extends Context.Service<McpSettings, { readonly mode: (typeof modes)[number] }>()(
  "svc/services/McpSettings"
) {
  static readonly layer = Layer.effect(
    McpSettings,
    Effect.map(mcpMode, (mode) => McpSettings.of({ mode }))
  )
}
