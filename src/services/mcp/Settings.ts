import { Context, Effect, Layer } from "effect"
import { oneOf } from "../../domain/Settings.ts"

/**
 * The modes of the MCP server, each with more rights than the one before: nothing, reading, writing in branches,
 * writing.
 */
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
