/** Hands a file to the browser, which saves it where downloads go. */
export const save = (file: Blob, name: string) => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
