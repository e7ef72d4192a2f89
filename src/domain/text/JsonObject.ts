export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a parsed JSON value is an object, not an array. Without Effect, because the dashboard bundles it. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
