import { Button } from "./Button.tsx"
import { Dialog, DialogBody } from "./Dialog.tsx"
import { copy } from "./toast.ts"

interface SecretOnceProps {
  readonly title: string
  readonly secret: string
  readonly children: string
  readonly onClose: () => void
}

/** A secret that is shown only once: only the button closes it, and it is kept nowhere. */
export const SecretOnce = ({ children, onClose, secret, title }: SecretOnceProps) => (
  <Dialog label={title}>
    <DialogBody
      title={title}
      buttons={
        <>
          <Button icon="copy" onClick={() => void copy(secret, "Secret")}>
            Copy
          </Button>
          <Button kind="main" onClick={onClose}>
            I have kept it
          </Button>
        </>
      }
    >
      <p>{children}</p>
      <code className="secret">{secret}</code>
    </DialogBody>
  </Dialog>
)
