/** Replaces examples/todo/src/constants.ts in the page at `/example/`, which the service serves with its own key. */
const response = await fetch("key.json")
if (!response.ok) throw new Error("The example was removed: start the service with --example todo again")

export const url = location.origin
export const { key } = (await response.json()) as { readonly key: string }
