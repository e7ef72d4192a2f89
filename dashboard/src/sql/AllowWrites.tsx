import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"

interface AllowWritesProps {
  /** Of the query. */
  readonly name: string
  readonly onAllow: () => void
  readonly onClose: () => void
}

export const AllowWrites = ({ name, onAllow, onClose }: AllowWritesProps) => (
  <Dialog label="Allow writes" onClose={onClose}>
    <DialogBody
      title={`Allow writes in ${name}?`}
      buttons={
        <>
          <Button onClick={onClose}>Keep it read-only</Button>
          <Button kind="danger" onClick={onAllow}>
            Allow writes
          </Button>
        </>
      }
    >
      <p>
        Statements of this query will then run with all rights, DELETE and DROP included, and are committed at once.
        What they change can&apos;t be undone here.
      </p>
    </DialogBody>
  </Dialog>
)
