import { type ReactNode, useState } from "react"
import { Button } from "./Button.tsx"
import { Dialog, DialogBody } from "./Dialog.tsx"
import { Field } from "./Field.tsx"
import { useAction } from "./FormDialog.tsx"
import { Problem } from "./Problem.tsx"

interface ConfirmProps {
  readonly title: string
  /** What goes, with numbers, and whether it can be undone. */
  readonly children: ReactNode
  /** The verb on the red button. */
  readonly verb: string
  /** A name that must be typed first. */
  readonly name?: string | undefined
  readonly run: () => Promise<void>
  readonly onClose: () => void
}

/** Before a destruction. Enter does not trigger it; the last button is the only red one. */
export const Confirm = ({ children, name, onClose, run, title, verb }: ConfirmProps) => {
  const [typed, setTyped] = useState("")
  const { busy, failure, go } = useAction(async () => {
    await run()
    onClose()
  })
  return (
    <Dialog label={title} onClose={onClose}>
      <DialogBody
        title={title}
        buttons={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="danger" busy={busy} disabled={name !== undefined && typed !== name} onClick={go}>
              {verb}
            </Button>
          </>
        }
      >
        <div className="dialog-text">{children}</div>
        {name === undefined ? null : (
          <Field
            label={`Type ${name} to confirm`}
            value={typed}
            onText={setTyped}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        {failure === undefined ? null : <Problem error={failure} title="That did not work" />}
      </DialogBody>
    </Dialog>
  )
}
