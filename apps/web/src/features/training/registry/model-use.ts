/** The configuration that makes a machine run a model. */
export interface ModelUse {
  modelName: string;
  /** `<organization>/<model>`. */
  packageId: string;
  /** A version, or "latest": then the machine installs every new version automatically. */
  version: string;
}

/** The entries to add, as text for the CONFIGURE tab. */
export function configFor({ modelName, packageId, version }: ModelUse): string {
  const place = `\${packages.${modelName}}`;
  const entries = {
    packages: [{ name: modelName, package: packageId, type: 'ml_model', version }],
    services: [
      {
        name: modelName,
        type: 'mlmodel',
        model: 'onnx_cpu',
        attributes: { model_path: `${place}/${modelName}.onnx`, label_path: `${place}/labels.txt` },
      },
    ],
  };
  return JSON.stringify(entries, null, 2);
}
