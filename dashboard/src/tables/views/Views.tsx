import type { Item, ViewContent } from "../../workspace/items.ts"
import { Keep } from "../../workspace/Keep.tsx"

interface ViewsProps {
  readonly content: ViewContent
  readonly opened: Item | undefined
  /** `opened`: false if it was only saved. */
  readonly onOpen: (view: Item, opened: boolean) => void
  readonly close: () => void
}

/** The views of a table that are saved: filters, order, and which columns are shown how. */
export const Views = ({ close, content, onOpen, opened }: ViewsProps) => (
  <Keep
    of={{ kind: "view", schema: content.schema, table: content.table }}
    noun="view"
    label="Views of this table"
    name={opened?.name ?? ""}
    content={content}
    opened={opened}
    onSaved={(view) => onOpen(view, false)}
    onOpen={(view) => onOpen(view, true)}
    close={close}
  />
)
