/** Functions that mark parts of a text for a terminal, and do nothing where colours are not wanted. */
export const stylesFor = (stream: { readonly isTTY?: boolean }) => {
  const on = stream.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb"
  const style = (start: number, end: number) => (text: string) => (on ? `\u001B[${start}m${text}\u001B[${end}m` : text)
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39)
  }
}
