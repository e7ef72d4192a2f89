const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** The modifier of shortcuts, as it is written before a letter. */
export const mod = isMac ? "⌘" : "Ctrl "
export const isMod = (event: { readonly metaKey: boolean; readonly ctrlKey: boolean }) =>
  isMac ? event.metaKey : event.ctrlKey
