import { type ReactNode, useRef, useState } from "react"
import { ask } from "./asked/ask.ts"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { Problem } from "./Problem.tsx"

/** Runs an action of a dialog once at a time, and keeps why it failed. An action may return undefined to do nothing. */
export const useAction = (run: () => Promise<unknown> | undefined) => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const go = async () => {
    const running = busy ? undefined : run()
    if (running === undefined) return
    setBusy(true)
    setFailure(undefined)
    try {
      await running
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return { busy, failure, go: () => void go() }
}

interface FormDialogProps {
  readonly title: string
  /** The verb on the main button. */
  readonly verb: string
  /** What has not happened if it fails. */
  readonly failed: string
  /** What the page adds to a failure, such as a link to where it is. */
  readonly explain?: (error: unknown) => ReactNode
  readonly wide?: boolean
  readonly disabled?: boolean
  /** Whether it stays open while it runs, because its result is shown only once. */
  readonly waits?: boolean
  /** Undefined: a field has a problem, which it shows. */
  readonly run: () => Promise<unknown> | undefined
  readonly onClose: () => void
  readonly children: ReactNode | ((busy: boolean) => ReactNode)
}

/** A form in a dialog: Enter and the main button run it, and a failure is shown in it. */
export const FormDialog = (props: FormDialogProps) => {
  const { children, disabled = false, failed, onClose, title, verb, waits = false, wide = false } = props
  const { busy, failure, go } = useAction(props.run)
  const stays = waits && busy
  const typed = useRef(false)
  // Escape or a press beside the form may be a mistake; "Cancel" is deliberate.
  const leave = async () => {
    if (!typed.current || (await ask(`Close “${title}” and discard what you have typed?`))) onClose()
  }
  return (
    <Dialog label={title} className={wide ? "wide" : ""} {...(stays ? {} : { onClose: () => void leave() })}>
      <form
        onInput={() => {
          typed.current = true
        }}
        className="dialog-body"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (!disabled) go()
        }}
      >
        <h2>{title}</h2>
        {typeof children === "function" ? children(busy) : children}
        {failure === undefined ? null : (
          <Problem error={failure} title={failed}>
            {props.explain?.(failure)}
          </Problem>
        )}
        <footer>
          <Button disabled={stays} onClick={onClose}>
            Cancel
          </Button>
          <Button kind="main" type="submit" busy={busy} disabled={disabled}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
