package com.intellij.openapi.components;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@Retention(RetentionPolicy.RUNTIME)
public @interface Storage {
    String value() default "";

    RoamingType roamingType() default RoamingType.DEFAULT;
}
