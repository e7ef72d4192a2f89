import type { CellEditor } from "./CellEditor.tsx"

let loaded: typeof CellEditor | undefined

/** The editor of a cell is not needed for the first rows. */
export const loadEditor = async () => {
  loaded = (await import("./CellEditor.tsx")).CellEditor
}

/** Undefined until it is loaded. */
export const editorNow = () => loaded
