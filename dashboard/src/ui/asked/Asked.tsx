import { useSyncExternalStore } from "react"
import { questions } from "./ask.ts"
import { Button } from "../Button.tsx"
import { Dialog, DialogBody } from "../Dialog.tsx"

/** The question that is open, above everything else. It is the last of the page, so that Escape is about it first. */
export const Asked = () => {
  const question = useSyncExternalStore(questions.subscribe, questions.current)
  if (question === undefined) return null
  const { answer, title, verb } = question
  return (
    <Dialog label={title} onClose={() => answer(false)}>
      <DialogBody
        title={title}
        buttons={
          <>
            <Button onClick={() => answer(false)}>Go on editing</Button>
            <Button kind="danger" onClick={() => answer(true)}>
              {verb}
            </Button>
          </>
        }
      >
        {null}
      </DialogBody>
    </Dialog>
  )
}
