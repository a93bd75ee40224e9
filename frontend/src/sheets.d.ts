declare module "sheet:*" {
  const sheet: string;
  export default sheet;
}
