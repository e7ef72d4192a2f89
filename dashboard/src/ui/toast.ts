import { ApiError } from "../wire/ApiError.ts"

export interface Toast {
  readonly id: number
  readonly text: string
  readonly kind: "info" | "error"
  /** Takes it back. */
  readonly undo?: () => void
  /** For those who are asked for help: the error's code and the request's id. */
  readonly trace?: string
}

let toasts: ReadonlyArray<Toast> = []
let nextId = 1
const listeners = new Set<() => void>()
const become = (next: ReadonlyArray<Toast>) => {
  toasts = next
  for (const listener of listeners) listener()
}

export const toastStore = {
  all: () => toasts,
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  },
  dismiss: (id: number) => become(toasts.filter((one) => one.id !== id)),
  clear: () => become([])
}

const show = (toast: Omit<Toast, "id">) => {
  const id = nextId++
  become([...toasts.slice(-2), { id, ...toast }])
  return id
}

/** What has been done. Goes after a few seconds; never holds a secret. */
export const toast = (text: string) => {
  const id = show({ text, kind: "info" })
  setTimeout(() => toastStore.dismiss(id), 6000)
}

/** What has been taken away and can be taken back, for longer than other notices. */
export const toastUndo = (text: string, undo: () => void) => {
  const id = show({ text, kind: "info", undo })
  setTimeout(() => toastStore.dismiss(id), 20_000)
}

/** A failure that belongs to no form. Stays until it is dismissed. */
export const toastError = (error: unknown) => {
  if (error instanceof ApiError) {
    show({ text: error.message, kind: "error", trace: `${error.body.code} · ${error.body.request_id}` })
  } else show({ text: error instanceof Error ? error.message : String(error), kind: "error" })
}

export const copy = async (text: string, what: string) => {
  try {
    await navigator.clipboard.writeText(text)
    toast(`${what} copied`)
  } catch {
    toastError(new Error("The browser does not allow copying here: select the text and copy it by hand"))
  }
}
