import { useState } from "react"
import { Button } from "../ui/Button.tsx"

interface AddressSearchProps {
  readonly label: string
  /** What is searched for now; empty: nothing. */
  readonly address: string
  readonly onSearch: (address: string) => void
}

/** Finds by an e-mail address. */
export const AddressSearch = ({ address, label, onSearch }: AddressSearchProps) => {
  const [text, setText] = useState(address)
  const [searched, setSearched] = useState(address)
  // By a link or a button; the field keeps the focus.
  if (searched !== address) {
    setSearched(address)
    setText(address)
  }
  return (
    <form
      role="search"
      className="people-search"
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(text.trim())
      }}
    >
      <input
        type="search"
        className="field"
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          if (target.value === "") onSearch("")
        }}
      />
      <Button type="submit" icon="search">
        Find
      </Button>
    </form>
  )
}
