/** A project whose symbols tests look up. */
export const shapesProject: Record<string, string> = {
  'tsconfig.json': JSON.stringify({ compilerOptions: { strict: true, module: 'esnext', moduleResolution: 'bundler' } }),
  'shapes.ts':
    'export interface Shape { area(): number }\nexport class Circle implements Shape { area() { return 1 } }\nexport class Square implements Shape { area() { return 2 } }\n',
  'main.ts':
    "import { Circle, type Shape } from './shapes'\nexport function measure(shape: Shape) { return shape.area() }\nexport const one = measure(new Circle())\nexport const two = measure(new Circle())\n",
}
